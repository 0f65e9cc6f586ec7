// webgguf needs no configuration. This is one project with a page for each example.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const names = [
  ...['react-chat', 'search', 'extract', 'triage', 'worker', 'tabs', 'offline'],
  ...[
    'train',
    'digits',
    'spectrum',
    'camera',
    'dictate',
    'talk',
    'ask-your-files',
    'agents',
    'translate',
    'read-a-page',
  ],
];
const pages = ['index', ...names.map((name) => `${name}/index`)];
const input = { ...Object.fromEntries(pages.map((page) => [page, `${page}.html`])), 'offline/sw': 'offline/sw.js' };
// A service worker is registered by its address, so that must not change.
const entryFileNames = ({ name }) => (name === 'offline/sw' ? '[name].js' : 'assets/[name]-[hash].js');

export default defineConfig({
  plugins: [react()],
  worker: { format: 'es' },
  build: { rolldownOptions: { input, output: { entryFileNames } } },
});
