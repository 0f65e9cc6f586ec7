// webgguf needs no configuration. This is one project with a page for each example.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const pages = ['index', 'react-chat/index', 'search/index', 'extract/index', 'worker/index'];

export default defineConfig({
  plugins: [react()],
  build: { rolldownOptions: { input: pages.map((page) => `${page}.html`) } },
});
