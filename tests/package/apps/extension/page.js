import { WasmModel } from 'webgguf';
import { write } from './write.js';

const options = { backend: 'cpu', contextLength: 512, shared: true };
let model;

/** What a test calls. */
globalThis.write = async () => {
  model ??= WasmModel.load(chrome.runtime.getURL('model.gguf'), options);
  return write(await model);
};
globalThis.fromBackground = () => chrome.runtime.sendMessage('write');
