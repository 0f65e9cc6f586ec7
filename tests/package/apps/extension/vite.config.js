import { defineConfig } from 'vite';

const entryFileNames = ({ name }) => (name === 'background' ? '[name].js' : 'assets/[name]-[hash].js');
const input = { page: 'page.html', background: 'background.js' };
export default defineConfig({ base: './', build: { rolldownOptions: { input, output: { entryFileNames } } } });
