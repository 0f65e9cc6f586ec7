// webgguf needs no configuration. This page has no server: `next build` writes files that any host can serve.
import { createRequire } from 'node:module';
import path from 'node:path';

const next = createRequire(import.meta.url).resolve('next/package.json');

export default {
  output: 'export',
  // The look of the examples lies beside this project, so its root is the folder that Next.js is installed in.
  turbopack: { root: path.resolve(next, '../../..') },
};
