/**
 * Parts of the WebAssembly that few pages need: functions that work in the memory of the module, which calls them
 * through its table. `tools/wasm_split.mjs` makes them.
 */
import { bytesOfBase64 } from '../base64.js';
import { WebggufError } from '../errors.js';

/** The parts of each module that are linked, or on the way. */
const linked = new WeakMap<WebAssembly.Exports, Map<string, Promise<void>>>();

/**
 * Makes a part available to the module, once.
 *
 * @param exports what the module exports
 * @param name the script that has the part, for messages
 * @param code the part as that script gives it
 * @throws {WebggufError} `download_failed` where the part is of another version than the module; `feature_missing`
 *   in a browser that cannot decompress
 * @internal
 */
export function linkPart(exports: WebAssembly.Exports, name: string, code: string): Promise<void> {
  const parts = linked.get(exports) ?? new Map<string, Promise<void>>();
  linked.set(exports, parts);
  const known = parts.get(name);
  if (known) return known;
  const linking = link(exports, name, code).catch((error: unknown) => {
    parts.delete(name);
    throw error;
  });
  parts.set(name, linking);
  return linking;
}

async function link(exports: WebAssembly.Exports, name: string, code: string): Promise<void> {
  if (typeof DecompressionStream === 'undefined') {
    throw new WebggufError('feature_missing', `this browser has no DecompressionStream, which ${name} needs`);
  }
  try {
    await WebAssembly.instantiate(await unpacked(code), { module: exports });
  } catch (cause) {
    const message = `${name} does not fit webgguf_bg.wasm: both must be of one version of webgguf (${String(cause)})`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

function unpacked(code: string): Promise<ArrayBuffer> {
  return new Response(
    new Blob([bytesOfBase64(code)]).stream().pipeThrough(new DecompressionStream('deflate-raw')),
  ).arrayBuffer();
}
