// wgpu makes pipelines one after the other, and the browser compiles each before it goes on to the next command. This
// asks for all of them at once, so that the browser compiles on all cores while weights are on their way. Browsers
// keep one pipeline for equal descriptions: as long as those made here are alive, wgpu gets them at once.

/**
 * Starts compiling and returns a promise of the pipelines, which is kept until wgpu has asked for them. A shader that
 * does not compile is left out: wgpu will report it.
 *
 * @param {GPUDevice} device
 * @param {{label: string, code: string, bindings: GPUBufferBindingType[], constants: Record<string, number>}[]} kernels
 */
export async function compilePipelines(device, kernels) {
  const made = kernels.map(({ label, code, bindings, constants }) => {
    const visibility = GPUShaderStage.COMPUTE;
    const entries = bindings.map((type, binding) => ({ binding, visibility, buffer: { type } }));
    const layout = device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
    const module = device.createShaderModule({ label, code });
    return device.createComputePipelineAsync({ label, layout, compute: { module, entryPoint: 'main', constants } });
  });
  const settled = await Promise.allSettled(made);
  return settled.map(({ value }) => value);
}
