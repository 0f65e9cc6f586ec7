// webgguf on the GPU of Node.js, Deno or Bun: does what the file of its first argument says, and prints what came out.

import fs from 'node:fs';
import { Gpu, WasmModel } from 'webgguf';

const { story, models, embedder } = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const bytesOf = (path) => new Uint8Array(fs.readFileSync(path));

/** Names that the globals of pages and workers have. */
const scopes = () => ['Window', 'WorkerGlobalScope'].filter((name) => name in globalThis);
const before = scopes();

/** Why each device was lost that webgguf has had. */
const lost = [];
const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function (...args) {
  const device = await requestDevice.apply(this, args);
  lost.push(device.lost.then(({ reason }) => reason));
  return device;
};

/** What `work` makes of a model, which is freed then. */
async function withModel(path, options, work) {
  const model = await WasmModel.load(bytesOf(path), options);
  try {
    return await work(model);
  } finally {
    await model.free();
  }
}

/** The story, and where it was written. */
const tell = (options) =>
  withModel(story, options, async (model) => {
    const { text } = await model.generate('Once upon a time', { maxTokens: 24, temperature: 0, ignoreEos: true });
    const { backend, backendReason, adapter } = model.info;
    return { text, backend, backendReason, adapter };
  });

/** Makes the software adapter look like a GPU, which `backend: 'auto'` takes. */
function disguise() {
  const { gpu } = navigator;
  const { requestAdapter } = Object.getPrototypeOf(gpu);
  gpu.requestAdapter = async (...args) => {
    const adapter = await requestAdapter.apply(gpu, args);
    const { vendor, description } = adapter.info;
    Object.defineProperty(adapter, 'info', { value: { vendor, description } });
    return adapter;
  };
  return () => delete gpu.requestAdapter;
}

const found = { software: await tell({}), models: [] };
const undo = disguise();
// Tuning compiles kernels for which lavapipe takes minutes.
found.auto = await tell({ tune: false });
undo();
for (const { path, prompt, count } of models) {
  const write = async (model) =>
    (await model.generate(prompt, { temperature: 0, ignoreEos: true, maxTokens: count }).result).ids;
  found.models.push([...(await withModel(path, { backend: 'webgpu', precision: 'exact' }, write))]);
}
found.embeddings = await withModel(embedder.path, { backend: 'webgpu' }, async (model) =>
  (await model.embed(embedder.inputs)).map((vector) => [...vector]),
);

const gpu = await Gpu.create();
const product = gpu.matmul(gpu.tensor([1, 2, 3, 4, 5, 6], [2, 3]), gpu.tensor([1, 0, 0, 1, 1, 1], [3, 2]));
found.product = [...(await product.data())];
try {
  const broken = gpu.tensor([1, 2], [2]);
  await gpu.reshape(broken, [3]).data();
} catch (error) {
  found.refused = error.code;
}
gpu.destroy();

found.lost = await Promise.all(lost);
found.globals = scopes().filter((name) => !before.includes(name));
console.log(JSON.stringify(found));
