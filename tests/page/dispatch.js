// In pages of tests: one dispatch of a shader's text.

/**
 * Runs a kernel whose bindings are its parameters, what it reads, and what it writes.
 * @param {GPUDevice} device
 * @param {{
 *   code: string, constants: Record<string, number>, params: Uint32Array, inputs: ArrayBufferView[],
 *   before: Float32Array, workgroups: number[],
 * }} given an array that stands in `inputs` several times is one buffer; `before` is what the output holds at first
 * @returns {Promise<Float32Array>} the output
 */
export async function dispatched(device, { code, constants, params, inputs, before, workgroups }) {
  const buffer = (array, usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC) => {
    const made = device.createBuffer({ size: Math.ceil(array.byteLength / 16) * 16, usage, mappedAtCreation: true });
    new array.constructor(made.getMappedRange()).set(array);
    made.unmap();
    return made;
  };
  const ofArrays = new Map([...new Set(inputs)].map((array) => [array, buffer(array)]));
  const output = buffer(before);
  const buffers = [buffer(params, GPUBufferUsage.UNIFORM), ...inputs.map((array) => ofArrays.get(array)), output];
  const typeOf = (at) => ({ 0: 'uniform', [buffers.length - 1]: 'storage' })[at] ?? 'read-only-storage';
  const entries = buffers.map((_, binding) => ({
    binding,
    visibility: GPUShaderStage.COMPUTE,
    buffer: { type: typeOf(binding) },
  }));
  const layout = device.createBindGroupLayout({ entries });
  const pipeline = await device.createComputePipelineAsync({
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ code }), constants },
  });
  const bound = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const back = device.createBuffer({ size: output.size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = device.createCommandEncoder();
  const work = encoder.beginComputePass();
  work.setPipeline(pipeline);
  work.setBindGroup(0, device.createBindGroup({ layout, entries: bound }));
  work.dispatchWorkgroups(...workgroups);
  work.end();
  encoder.copyBufferToBuffer(output, 0, back, 0, output.size);
  device.queue.submit([encoder.finish()]);
  await back.mapAsync(GPUMapMode.READ);
  return new Float32Array(back.getMappedRange().slice(0));
}
