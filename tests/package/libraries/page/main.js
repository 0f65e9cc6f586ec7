// The page of libraries_page.test.mjs. Each part is a chunk of its own: code of the guide, or an app.

import { WasmModel } from 'webgguf';

const apps = { vue: () => import('./vue.js'), svelte: () => import('./svelte.js') };
apps.assistant = () => import('./assistant.jsx');

/** The code of the guide, which finds an embedder and texts. */
const parts = {
  orama: () => import('./orama.js'),
  pglite: () => import('./pglite.js'),
  dexie: () => import('./dexie.ts'),
};

window.run = async (name, values) => {
  const model = await WasmModel.load('/fixtures/embedders/nomic-bert-f16.gguf', { backend: 'cpu' });
  Object.assign(window, { model, values });
  const { texts } = await parts[name]();
  await model.free();
  return texts;
};

window.show = async (name) => {
  const { show } = await apps[name]();
  return show(document.querySelector('#app'));
};
