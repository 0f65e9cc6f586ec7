// What every app here does: the model writes a text, and the title of the page says how that went.

import { Gpu, init, WasmModel } from 'webgguf';

/**
 * With `?backend=webgpu` on the GPU, else on the CPU; with `?worker` in a worker, with `?shared` in one for all tabs;
 * with `?wasm=URL` and `?script=URL` the WebAssembly and the worker's script come from there. With `?tensors` a `Gpu`
 * adds up, too.
 */
export async function writeStory(wasm) {
  const output = document.querySelector('#output');
  const query = new URLSearchParams(location.search);
  try {
    const url = query.get('wasm') ?? wasm;
    if (url) await init({ wasm: url, worker: query.get('script') ?? undefined });
    const [backend, worker, shared] = [query.get('backend') ?? 'cpu', query.has('worker'), query.has('shared')];
    const model = await WasmModel.load('/model.gguf', { backend, worker, shared });
    const options = { maxTokens: 24, temperature: 0, ignoreEos: true };
    for await (const piece of model.generate('Once upon a time', options)) output.textContent += piece.text;
    const place = model.info.shared;
    await model.free();
    if (query.has('tensors')) await addUp();
    document.title = `done on ${model.info.backend}${place ? ` in ${place.engineIn}, ${place.reason}` : ''}`;
  } catch (error) {
    document.title = `failed: ${error.name} ${error.code} ${error.message}`;
  }
}

/** The shaders of `Gpu` are a module that bundlers make a file of. */
async function addUp() {
  const gpu = await Gpu.create();
  const [sum] = await gpu.sum(gpu.tensor([1, 2, 3, 4])).data();
  gpu.destroy();
  if (sum !== 10) throw new Error(`1 + 2 + 3 + 4 is ${sum}`);
}
