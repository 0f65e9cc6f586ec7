// What every app here does: the model writes a text, and the title of the page says how that went.

import { init, WasmModel } from 'webgguf';

/** With `?backend=webgpu` on the GPU, else on the CPU; with `?wasm=URL` the WebAssembly comes from there. */
export async function writeStory(wasm) {
  const output = document.querySelector('#output');
  const query = new URLSearchParams(location.search);
  try {
    const url = query.get('wasm') ?? wasm;
    if (url) await init({ wasm: url });
    const model = await WasmModel.load('/model.gguf', { backend: query.get('backend') ?? 'cpu' });
    const options = { maxTokens: 24, temperature: 0, ignoreEos: true };
    for await (const piece of model.generate('Once upon a time', options)) output.textContent += piece.text;
    document.title = `done on ${model.info.backend}`;
  } catch (error) {
    document.title = `failed: ${error.name} ${error.code} ${error.message}`;
  }
}
