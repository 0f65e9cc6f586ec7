// Circles of imports: files that reach each other, by values, by `import()`, or by types alone.

import fs from 'node:fs';
import path from 'node:path';
import { filesUnder, ROOT } from '../../tools/common.mjs';

/** What a file of js/ names by `import`, `export … from`, `import()` and `import('…')` in types. */
function namedIn(text) {
  const plain = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
  return [...plain.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, name]) => name);
}

/** The files of js/ and the files that each imports. */
export function importsOf(files) {
  const graph = new Map();
  for (const [file, text] of files) {
    const targets = namedIn(text).map((name) => path.posix.join(path.posix.dirname(file), name).replace(/\.js$/, ''));
    const found = targets.map((target) => [`${target}.ts`, `${target}.d.ts`].find((name) => files.has(name)));
    graph.set(file, [...new Set(found.filter((name) => name !== undefined))]);
  }
  return graph;
}

/** Sets of files that reach each other, the largest first (Tarjan's strongly connected components). */
export function circlesIn(graph) {
  const order = new Map();
  const lowest = new Map();
  const open = [];
  const circles = [];
  const visit = (file) => {
    order.set(file, order.size);
    lowest.set(file, order.get(file));
    open.push(file);
    for (const next of graph.get(file)) {
      if (!order.has(next)) visit(next);
      if (open.includes(next)) lowest.set(file, Math.min(lowest.get(file), lowest.get(next)));
    }
    if (lowest.get(file) < order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles.sort((a, b) => b.length - a.length);
}

/** The files of js/ with their text. */
export function scripts() {
  const names = filesUnder('js').filter((file) => file.endsWith('.ts'));
  return new Map(names.map((file) => [file, fs.readFileSync(path.join(ROOT, file), 'utf8')]));
}
