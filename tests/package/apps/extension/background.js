// A service worker may not load scripts later: what the model needs is imported at once.
import { WasmModel } from 'webgguf';
import 'webgguf/preload.js';
import { write } from './write.js';

let model;

chrome.runtime.onMessage.addListener((message, _, respond) => {
  if (message !== 'write') return false;
  model ??= WasmModel.load(chrome.runtime.getURL('model.gguf'), { backend: 'cpu', contextLength: 512, shared: true });
  model.then(write).then(respond, (error) => respond(String(error)));
  return true;
});
