// webgguf in Deno, as in Node.js; models are read by `fetch` there.

import { Tokenizer, WasmModel } from 'webgguf';

const file = new URL('./public/model.gguf', import.meta.url);
const model = await WasmModel.load(file);
const { text } = await model.generate('Once upon a time', { maxTokens: 24, temperature: 0, ignoreEos: true });
const tokenizer = await Tokenizer.load(file);
console.log(JSON.stringify({ backend: model.info.backend, text, ids: tokenizer.tokenize('A hare').length }));
