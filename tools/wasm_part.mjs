// A part of a WebAssembly module (see wasm_split.mjs) as a script, which every bundler takes with the others: a file of
// its own would need an address of its own.

import zlib from 'node:zlib';

/**
 * The script: the part as base64, compressed, since base64 of what is not compressed takes a third more on its way.
 * `js/wasm/link-part.ts` reads it.
 */
export const partScript = (name, part) =>
  `export const ${name} = "${zlib.deflateRawSync(part, { level: 9 }).toString('base64')}";\n`;
