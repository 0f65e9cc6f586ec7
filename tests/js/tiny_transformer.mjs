// A transformer of one layer, as tools/make_gradient_fixtures.py has it for PyTorch.

/** The parameters of the fixture on the GPU. */
export const parametersOf = (gpu, { parameters, shapes }) =>
  Object.fromEntries(Object.entries(parameters).map(([name, values]) => [name, gpu.tensor(values, shapes[name])]));

/** The loss of the model. */
export function lossOf(gpu, p, { ids, targets }) {
  const heads = (y) => gpu.reshape(y, [ids.length, -1, 4]);
  const block = (x) => {
    const h = gpu.rmsNorm(x, p.norm1);
    const [q, k, v] = [p.query, p.key, p.value].map((w) => heads(gpu.project(h, w)));
    const y = gpu.attention(...[q, k].map((y) => gpu.rope(y, { layout: 'bshd' })), v, { layout: 'bshd', causal: true });
    const after = gpu.matmul(gpu.reshape(y, x.shape), p.output, { transposeB: true, residual: x });
    const inner = gpu.gateUp(after, p.gateUp, { norm: p.norm2 });
    return gpu.matmul(inner, p.down, { transposeB: true, residual: after });
  };
  const x = gpu.checkpoint(block, gpu.embedding(p.embedding, gpu.tensor(Uint32Array.from(ids))));
  const states = gpu.layerNorm(x, p.norm3, { bias: p.bias3 });
  return gpu.crossEntropy(states, gpu.tensor(Int32Array.from(targets)), { weights: p.embedding, rows: 3 });
}

/** The parameters after some steps, and the loss and the norm of the gradients before each. */
export async function trained(gpu, fixture, makeOptimizer, steps = 3) {
  const p = parametersOf(gpu, fixture);
  const optimizer = makeOptimizer(p);
  const [losses, norms] = [[], []];
  for (let step = 0; step < steps; step += 1) {
    const { value, gradients } = gpu.valueAndGrad(() => lossOf(gpu, p, fixture), p);
    norms.push(gpu.clipGradNorm(gradients, 0.5));
    optimizer.step(gradients);
    gpu.free(gradients);
    losses.push(value);
  }
  const read = (tensors) => Promise.all(tensors.map((tensor) => tensor.data().then((values) => [...values])));
  const values = await read(Object.values(p));
  const found = { losses: (await read(losses)).flat(), norms: (await read(norms)).flat() };
  gpu.free(p, losses, norms);
  optimizer.free();
  return { ...found, parameters: Object.fromEntries(Object.keys(p).map((name, i) => [name, values[i]])) };
}
