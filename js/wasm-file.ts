/**
 * Where `webgguf_bg.wasm` is: beside the JavaScript, where a bundler put it, or in a file system.
 */
import { WebggufError, invalidArgument } from './errors.js';
import { statusOf } from './load/responses.js';
import { show } from './check.js';
import type { WasmInput } from './types/source.js';

/** One of the package's three files. */
interface PackageFile {
  /** The folder in dist/. */
  readonly folder: 'wasm' | 'grammar' | 'media';
  readonly name: string;
  /** The option of `init` for it. */
  readonly option: 'wasm' | 'grammarWasm' | 'mediaWasm';
  readonly url: () => URL;
}

/** Bundlers find the files by these expressions: they must stay as they are. */
const ENGINE: PackageFile = {
  folder: 'wasm',
  name: 'webgguf_bg.wasm',
  option: 'wasm',
  url: () => new URL('./wasm/webgguf_bg.wasm', import.meta.url),
};
const GRAMMAR: PackageFile = {
  folder: 'grammar',
  name: 'webgguf_grammar_bg.wasm',
  option: 'grammarWasm',
  url: () => new URL('./grammar/webgguf_grammar_bg.wasm', import.meta.url),
};

const MEDIA: PackageFile = {
  folder: 'media',
  name: 'webgguf_media_bg.wasm',
  option: 'mediaWasm',
  url: () => new URL('./media/webgguf_media_bg.wasm', import.meta.url),
};

const giveUrl = ({ option }: PackageFile): string => `give its URL with init({ ${option}: url })`;

/** What wasm-bindgen's glue can start from: a response whose body is WebAssembly, bytes, or a compiled module. */
type WasmFile = Response | BufferSource | WebAssembly.Module;

/**
 * The file beside this script.
 *
 * @throws {WebggufError} `download_failed`
 * @internal
 */
export function wasmBesideScript(): Promise<WasmFile> {
  return besideScript(ENGINE);
}

let grammarInput: WasmInput | Promise<WasmInput> | undefined;

/** Where the file for grammars is, if not beside this script. @internal */
export function setGrammarFile(input: WasmInput | Promise<WasmInput> | undefined): void {
  grammarInput ??= input;
}

/** What {@link setGrammarFile} was given first. A response can be read once, so each gets a copy. @internal */
export async function givenGrammarFile(): Promise<WasmInput | undefined> {
  const input = await grammarInput;
  return input instanceof Response ? input.clone() : input;
}

/** The file for grammars. @internal */
export async function grammarFile(): Promise<WasmFile> {
  const input = await givenGrammarFile();
  return input === undefined ? besideScript(GRAMMAR) : openWasm(input, GRAMMAR);
}

let mediaInput: WasmInput | Promise<WasmInput> | undefined;

/** Where the file for images is, if not beside this script. @internal */
export function setMediaFile(input: WasmInput | Promise<WasmInput> | undefined): void {
  mediaInput ??= input;
}

/** What {@link setMediaFile} was given first. A response can be read once, so each gets a copy. @internal */
export async function givenMediaFile(): Promise<WasmInput | undefined> {
  const input = await mediaInput;
  return input instanceof Response ? input.clone() : input;
}

/** The file for images. @internal */
export async function mediaFile(): Promise<WasmFile> {
  const input = await givenMediaFile();
  return input === undefined ? besideScript(MEDIA) : openWasm(input, MEDIA);
}

async function besideScript(file: PackageFile): Promise<WasmFile> {
  const url = urlBesideScript(file);
  try {
    return await openWasm(url, file);
  } catch (error) {
    const server = viteServerOf(url, file);
    if (server === undefined) throw error;
    const moved = await openFromVite(server, file);
    if (moved) return moved;
    const message =
      `${url.href}: Vite has moved the JavaScript of webgguf without its WebAssembly; ` +
      "add optimizeDeps: { exclude: ['webgguf'] } to vite.config.js";
    throw new WebggufError('download_failed', message, { cause: error });
  }
}

function urlBesideScript(file: PackageFile): URL {
  try {
    return file.url();
  } catch (cause) {
    const message =
      `the URL of ${file.name} is not known: this bundle is no ES module, so import.meta.url is missing; ` +
      `copy the file from node_modules/webgguf/dist/${file.folder} and ${giveUrl(file)}`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

/**
 * Opens what `init` was given. An address that does not lead to WebAssembly is reported here, where it is known.
 *
 * @throws {WebggufError} `download_failed`, `invalid_argument`
 * @internal
 */
export async function openWasm(input: WasmInput, of: PackageFile = ENGINE): Promise<WasmFile> {
  const isAddress = typeof input === 'string' || input instanceof URL || input instanceof Request;
  const file = isAddress ? await readOrFetch(input, of) : input;
  if (file instanceof Response) return checkResponse(file, of);
  if (typeof file === 'object' && file !== null) return file;
  throw invalidArgument(`init: '${of.option}' must be a URL, response, bytes or module, found ${show(file)}`);
}

function checkResponse(response: Response, of: PackageFile): Response {
  const isPage = response.headers.get('content-type')?.startsWith('text/html');
  if (response.ok && !isPage) return response;
  response.body?.cancel().catch(() => {});
  const what = isPage && response.ok ? 'a web page instead of WebAssembly' : statusOf(response);
  throw new WebggufError('download_failed', `${response.url}: ${what}; ${giveUrl(of)}`);
}

async function readOrFetch(input: string | URL | Request, of: PackageFile): Promise<Response | BufferSource> {
  const url = input instanceof Request ? input.url : String(input);
  try {
    const files = url.startsWith('file:') ? fileSystem() : undefined;
    return await (files ? files.readFile(new URL(url)) : fetch(input));
  } catch (cause) {
    throw new WebggufError('download_failed', `${url}: could not be read (${String(cause)}); ${giveUrl(of)}`, {
      cause,
    });
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
function viteServerOf(url: URL, { folder }: PackageFile): string | undefined {
  const path = /^(.*?)\/(?:@fs\/|node_modules\/|\.vite\/)(?:.*\/)?deps(?:_\w+)?\/(\w+)\//.exec(url.pathname);
  return path?.[2] === folder ? url.origin + path[1] : undefined;
}

/**
 * Where Vite's development server has `file` of the package, if it moved the JavaScript without it.
 * @internal
 */
export async function fileFromVite(file: string): Promise<URL | undefined> {
  const server = viteServerOf(urlBesideScript(ENGINE), ENGINE);
  if (server === undefined) return undefined;
  const usual = new URL(`${server}/node_modules/webgguf/dist/${file}`);
  const { ok, headers } = await fetch(usual);
  if (ok && !headers.get('content-type')?.startsWith('text/html')) return usual;
  const wasm = await exportedFromVite(server, ENGINE);
  return wasm && new URL(`../${file}`, wasm);
}

/**
 * The file from a Vite server: from its usual place, else (packages hoisted in a monorepo) from where Vite finds it by
 * its exported name. `?init` is how an application of Vite imports WebAssembly; what it answers holds the URL.
 */
async function openFromVite(server: string, of: PackageFile): Promise<WasmFile | undefined> {
  const { folder, name } = of;
  const usual = await openWasm(`${server}/node_modules/webgguf/dist/${folder}/${name}`, of).catch(() => undefined);
  if (usual) return usual;
  try {
    const url = await exportedFromVite(server, of);
    return url && (await openWasm(url, of));
  } catch {
    return undefined;
  }
}

async function exportedFromVite(server: string, { name }: PackageFile): Promise<URL | undefined> {
  const module = await (await fetch(`${server}/@id/webgguf/${name}?import&init`)).text();
  const path = new RegExp(`"([^"]*${name.replace('.', '\\.')}[^"]*)"`).exec(module)?.[1];
  return path ? new URL(path, server) : undefined;
}
