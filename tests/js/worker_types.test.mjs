// A project whose code runs in a worker compiles against the types of every entry: TypeScript's library for workers has
// no DOM. Every declaration is checked, not the ones alone that such code uses.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readJson, ROOT } from '../../tools/common.mjs';

const folder = fs.mkdtempSync(path.join(ROOT, '.cache', 'worker-types-'));
after(() => fs.rmSync(folder, { recursive: true }));

const { exports: entries } = readJson(path.join(ROOT, 'package.json'));
const declared = Object.values(entries).flatMap(({ types }) => types ?? []);
const script = (file) => path.join(ROOT, file).replace(/\.d\.ts$/, '.js');
const code = `${declared.map((file, at) => `export * as entry${at} from '${script(file)}';`).join('\n')}
import { WasmModel } from '${path.join(ROOT, 'dist/index.js')}';
self.onmessage = async ({ data }: MessageEvent<string>) => {
  const model = await WasmModel.load(data);
  for await (const { text } of model.generate([{ role: 'user', content: 'x' }])) self.postMessage(text);
};
`;

/** What the compiler says. */
function compiled(lib) {
  const compilerOptions = { noEmit: true, strict: true, skipLibCheck: false, target: 'es2022', types: [], lib };
  Object.assign(compilerOptions, { module: 'esnext', moduleResolution: 'bundler' });
  const name = lib.join('-').toLowerCase();
  fs.writeFileSync(path.join(folder, `${name}.ts`), code);
  const project = path.join(folder, `${name}.json`);
  fs.writeFileSync(
    project,
    JSON.stringify({
      compilerOptions,
      files: [
        `${name}.ts`,
        ...['react', 'vue'].map((one) => fileURLToPath(new URL(`../../tools/${one}.d.ts`, import.meta.url))),
      ],
    }),
  );
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  return new Promise((resolve) => execFile(process.execPath, [tsc, '-p', project], (_, out) => resolve(out.trim())));
}

for (const lib of [
  ['ES2022', 'DOM'],
  ['ES2022', 'WebWorker'],
]) {
  test(`every entry compiles with lib ${lib.join(', ')}`, async () => {
    assert.ok(declared.length > 8, 'entries');
    assert.equal(await compiled(lib), '');
  });
}
