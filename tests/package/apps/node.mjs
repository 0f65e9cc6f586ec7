// webgguf in Node.js: the WebAssembly is found by itself, and `backend: 'auto'` takes the CPU.

import { openAsBlob } from 'node:fs';
import { Gpu, Tokenizer, WasmModel } from 'webgguf';

const file = () => openAsBlob('public/model.gguf');
const codeOf = (promise) =>
  promise.then(
    () => 'nothing',
    (error) => error.code,
  );

const model = await WasmModel.load(file());
const { text } = await model.generate('Once upon a time', { maxTokens: 24, temperature: 0, ignoreEos: true });
const tokenizer = await Tokenizer.load(file());
const codes = [await codeOf(WasmModel.load(file(), { backend: 'webgpu' })), await codeOf(Gpu.create())];
console.log(JSON.stringify({ backend: model.info.backend, text, ids: tokenizer.tokenize('A hare').length, codes }));
