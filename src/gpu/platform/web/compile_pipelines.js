// wgpu makes pipelines one after the other, and the browser compiles each before it goes on to the next command. This
// asks for all of them at once, so that the browser compiles on all cores while weights are on their way. wgpu takes no
// pipeline from outside, so its own calls are answered with what was made here: otherwise a browser that keeps no cache
// of equal pipelines would compile each twice.

/**
 * Starts compiling and returns a promise of what was made, in order: `undefined` for a shader that does not compile.
 * wgpu will then try it and report what is wrong.
 *
 * @param {GPUDevice} device
 * @param {{label: string, code: string, bindings: GPUBufferBindingType[], constants: Record<string, number>}[]} kernels
 * @returns {Promise<({module: GPUShaderModule, pipeline: GPUComputePipeline} | undefined)[]>}
 */
export async function compilePipelines(device, kernels) {
  device.pushErrorScope('validation'); // what is wrong with a module: nobody may ever use it
  const made = kernels.map(async ({ label, code, bindings, constants }) => {
    const visibility = GPUShaderStage.COMPUTE;
    const entries = bindings.map((type, binding) => ({ binding, visibility, buffer: { type } }));
    const layout = device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
    const module = device.createShaderModule({ label, code });
    const compute = { module, entryPoint: 'main', constants };
    return { module, pipeline: await device.createComputePipelineAsync({ label, layout, compute }) };
  });
  device.popErrorScope().catch(() => {});
  const settled = await Promise.allSettled(made);
  return settled.map(({ value }) => value);
}

/**
 * Answers the device's next calls of `createShaderModule` and `createComputePipeline` with these. Bind groups of wgpu's
 * own layout fit, since layouts with equal entries are equivalent.
 *
 * @param {GPUDevice} device
 * @param {{module: GPUShaderModule, pipeline: GPUComputePipeline}} made
 */
export function answerNextCalls(device, { module, pipeline }) {
  answerNext(device, 'createShaderModule', module);
  answerNext(device, 'createComputePipeline', pipeline);
}

/** An own property hides the method of the prototype until it is called. */
function answerNext(device, method, answer) {
  device[method] = () => {
    delete device[method];
    return answer;
  };
}
