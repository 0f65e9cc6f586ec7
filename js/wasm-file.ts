/**
 * Where `webgguf_bg.wasm` is: beside the JavaScript, where a bundler put it, or in a file system.
 */
import { WebggufError, invalidArgument } from './errors.js';
import { show } from './options.js';
import type { WasmInput } from './types.js';

/** The name under which package.json exports the file. */
const EXPORTED = 'webgguf/webgguf_bg.wasm';
const GIVE_URL = 'give its URL with init({ wasm: url })';

/** What wasm-bindgen's glue can start from: a response whose body is WebAssembly, bytes, or a compiled module. */
type WasmFile = Response | BufferSource | WebAssembly.Module;

/**
 * The file beside this script.
 *
 * @throws {WebggufError} `download_failed`
 * @internal
 */
export async function wasmBesideScript(): Promise<WasmFile> {
  const url = urlBesideScript();
  try {
    return await openWasm(url);
  } catch (error) {
    const server = viteServerOf(url);
    if (server === undefined) throw error;
    const moved = await openFromVite(server);
    if (moved) return moved;
    const message =
      `${url.href}: Vite has moved the JavaScript of webgguf without its WebAssembly; ` +
      "add optimizeDeps: { exclude: ['webgguf'] } to vite.config.js";
    throw new WebggufError('download_failed', message, { cause: error });
  }
}

/** Bundlers find the file by this expression: it must stay as it is. */
function urlBesideScript(): URL {
  try {
    return new URL('./wasm/webgguf_bg.wasm', import.meta.url);
  } catch (cause) {
    const message =
      'the URL of webgguf_bg.wasm is not known: this bundle is no ES module, so import.meta.url is missing; ' +
      `copy the file from node_modules/webgguf/dist/wasm and ${GIVE_URL}`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

/**
 * Opens what `init` was given. An address that does not lead to WebAssembly is reported here, where it is known.
 *
 * @throws {WebggufError} `download_failed`, `invalid_argument`
 * @internal
 */
export async function openWasm(input: WasmInput): Promise<WasmFile> {
  const isAddress = typeof input === 'string' || input instanceof URL || input instanceof Request;
  const file = isAddress ? await readOrFetch(input) : input;
  if (file instanceof Response) return checkResponse(file);
  if (typeof file === 'object' && file !== null) return file;
  throw invalidArgument(`init: 'wasm' must be a URL, response, bytes or module, found ${show(file)}`);
}

function checkResponse(response: Response): Response {
  const isPage = response.headers.get('content-type')?.startsWith('text/html');
  if (response.ok && !isPage) return response;
  void response.body?.cancel();
  const what = isPage && response.ok ? 'a web page instead of WebAssembly' : `HTTP status ${response.status}`;
  throw new WebggufError('download_failed', `${response.url}: ${what}; ${GIVE_URL}`);
}

async function readOrFetch(input: string | URL | Request): Promise<Response | BufferSource> {
  const url = input instanceof Request ? input.url : String(input);
  try {
    const files = url.startsWith('file:') ? fileSystem() : undefined;
    return await (files ? files.readFile(new URL(url)) : fetch(input));
  } catch (cause) {
    throw new WebggufError('download_failed', `${url}: could not be read (${String(cause)}); ${GIVE_URL}`, { cause });
  }
}

/** The part of `node:fs/promises` that is needed here. */
interface FileSystem {
  readFile(path: URL): Promise<BufferSource>;
}

/** The file system of Node.js, Deno and Bun; bundlers do not see this, and do not look for a module in its place. */
function fileSystem(): FileSystem | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  return process?.getBuiltinModule?.('node:fs/promises') as FileSystem | undefined;
}

/**
 * In development, Vite 5 to 7 bundle each dependency into one file of `node_modules/.vite/deps` and leave other files
 * where they were. Returns the base URL of the Vite server if `url` has lost its file in this way.
 */
function viteServerOf(url: URL): string | undefined {
  const path = /^(.*?)\/(?:@fs\/|node_modules\/|\.vite\/)(?:.*\/)?deps(?:_\w+)?\/wasm\//.exec(url.pathname);
  return path ? url.origin + path[1] : undefined;
}

/**
 * Where Vite's development server has `file` of the package, if it moved the JavaScript without it.
 * @internal
 */
export async function fileFromVite(file: string): Promise<URL | undefined> {
  const server = viteServerOf(urlBesideScript());
  if (server === undefined) return undefined;
  const usual = new URL(`${server}/node_modules/webgguf/dist/${file}`);
  const { ok, headers } = await fetch(usual);
  if (ok && !headers.get('content-type')?.startsWith('text/html')) return usual;
  const wasm = await exportedFromVite(server);
  return wasm && new URL(`../${file}`, wasm);
}

/**
 * The file from a Vite server: from its usual place, else (packages hoisted in a monorepo) from where Vite finds it by
 * its exported name. `?init` is how an application of Vite imports WebAssembly; what it answers holds the URL.
 */
async function openFromVite(server: string): Promise<WasmFile | undefined> {
  const usual = await openWasm(`${server}/node_modules/webgguf/dist/wasm/webgguf_bg.wasm`).catch(() => undefined);
  if (usual) return usual;
  try {
    const url = await exportedFromVite(server);
    return url && (await openWasm(url));
  } catch {
    return undefined;
  }
}

async function exportedFromVite(server: string): Promise<URL | undefined> {
  const module = await (await fetch(`${server}/@id/${EXPORTED}?import&init`)).text();
  const path = /"([^"]*webgguf_bg\.wasm[^"]*)"/.exec(module)?.[1];
  return path ? new URL(path, server) : undefined;
}
