import { WasmModel } from 'webgguf';

const output = document.querySelector('#output');

try {
  const model = await WasmModel.load('/model.gguf', { backend: 'webgpu' });
  for await (const piece of model.generate('Once upon a time', { maxTokens: 24, temperature: 0, ignoreEos: true })) {
    output.textContent += piece.text;
  }
  document.title = `done on ${model.info.backend}`;
} catch (error) {
  document.title = `failed: ${error.code} ${error.message}`;
}
