// The page of libraries_page.test.mjs. Each part is a chunk of its own: code of the guide, or an app.

import { WasmModel } from 'webgguf';

const apps = { vue: () => import('./vue.js'), svelte: () => import('./svelte.js') };
apps.assistant = () => import('./assistant.jsx');

/** The code of the guide, which finds an embedder and texts. */
const parts = {
  orama: () => import('./orama.js'),
  pglite: () => import('./pglite.js'),
  dexie: () => import('./dexie.ts'),
  agent: () => import('./agent.js'),
  mcp: () => import('./mcp.js'),
};

window.run = async (name, values, url = '/fixtures/embedders/nomic-bert-f16.gguf') => {
  const model = await WasmModel.load(url, { backend: 'cpu' });
  const messages = [{ role: 'user', content: 'Tell me about a hare.' }];
  Object.assign(window, { model, values, messages, out: document.querySelector('#app') });
  const { texts } = await parts[name]();
  await model.free();
  return texts;
};

window.show = async (name) => {
  const { show } = await apps[name]();
  return show(document.querySelector('#app'));
};
