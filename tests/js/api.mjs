// The compiled package over a mock of its WebAssembly. `WEBGGUF_DIST` may name another folder with the compiled files.

import assert from 'node:assert/strict';
import { register } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
/** URL of the folder with the compiled files. */
export const dist = pathToFileURL(path.resolve(here, process.env.WEBGGUF_DIST ?? '../../dist') + path.sep).href;
const mock = new URL('mock_wasm.mjs', import.meta.url).href;

// Every import of wasm-bindgen's glue, of the templates and of what links parts of WebAssembly gets the mock.
const hook = `const mocked = ['/webgguf.js', '/templates/content.js', '/wasm/link-part.js'];
export const resolve = (name, context, next) => mocked.some((end) => name.endsWith(end))
  ? { url: ${JSON.stringify(mock)}, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

export const api = await import(`${dist}index.js`);
export const { openSources } = await import(`${dist}load/sources.js`);
export const { progressReporter } = await import(`${dist}load/progress.js`);
export { calls, plan, resetMock, seen } from './mock_wasm.mjs';

/** Bytes that tell every offset from its neighbours. */
export function testBytes(length) {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) * 7 + (i >> 16)) & 255);
}

/** Reads one byte source to its end. */
export async function readAll(source) {
  const pieces = [];
  for (let piece = await source.next(); piece; piece = await source.next()) {
    assert.ok(piece.length > 0 && piece.length <= 4 << 20, `a piece of ${piece.length} bytes`);
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces);
}

/** `assert.rejects` or `assert.throws` helper: a WebggufError of this code whose message matches. */
export const withCode =
  (code, pattern = /./) =>
  (error) => {
    assert.equal(error?.name, 'WebggufError', String(error?.stack ?? error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, pattern);
    return true;
  };

export const isAbort = (error) => error instanceof DOMException && error.name === 'AbortError';
export const { Sha256 } = await import(`${dist}load/cache/sha256.js`);
export const { parseState } = await import(`${dist}load/cache/state.js`);
export const { folderOf, keyOfUrl } = await import(`${dist}load/cache/key.js`);
export const { parseHubName } = await import(`${dist}load/hub.js`);
