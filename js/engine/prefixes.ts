/**
 * `prefixCache`: what a model has read of prompts, kept in the origin's private file system, so that a page that is
 * opened again does not read a long prompt again.
 */
import { WebggufError } from '../errors.js';
import { openRoot, openWritable } from '../load/cache/folder.js';
import { type LoadWarning, warningOf } from '../load/cache/warning.js';
import { FIRST_ROW } from '../model/prompt.js';
import type { ModelInfo } from '../types/info.js';
import type { WasmModel as Handle } from '../wasm/webgguf.js';
import { now } from './engine.js';
import { headOf, restoreIn, savedSession } from './saved.js';

const FOLDER = 'prefixes';
const INDEX = 'index.json';
/** Tokens that are worth a look at the disk, and the smallest number of further ones that is worth storing. */
const LEAST = 256;
/** A longer text is stored where this share of it is new, so that a long chat is written a few times. */
const NEW_SHARE = 0.25;
/**
 * Bytes per second that a browser reads from its private file system into a KV cache, until it was seen in this page:
 * as measured on one machine.
 */
const DISK_RATE = 3e8;
/** Errors that say that what is stored is of no use. */
const USELESS: readonly string[] = ['bad_file', 'integrity_failed', 'invalid_argument', 'download_failed'];

/** A stored text: files `name.ids`, its token ids, and `name.state`, a saved session. */
interface Entry {
  readonly name: string;
  /** Which model has read it. */
  readonly model: string;
  readonly tokens: number;
  readonly bytes: number;
  /** When it was used last, in milliseconds. */
  readonly used: number;
}

/** A stored text, and how many of its tokens a prompt begins with. */
interface Found {
  readonly entry: Entry;
  readonly common: number;
}

/** What one model has stored. @internal */
export class Prefixes {
  readonly #model: string;
  readonly #most: number;
  readonly #warn: (warning: LoadWarning) => void;
  readonly #speeds = new Speeds();
  #work: Promise<unknown> = Promise.resolve();
  /** The storage failed: it is left alone from then on. */
  #isOff = false;

  constructor(info: ModelInfo, mostBytes: number, warn: (warning: LoadWarning) => void) {
    const { architecture, name, quantization, parameters, vocabularySize, kvType, contextLength, backend } = info;
    const model = [architecture, name, quantization, parameters, vocabularySize];
    // A saved session says for itself which model it is of; this spares the attempts that cannot fit.
    this.#model = JSON.stringify([...model, kvType, contextLength, backend]);
    this.#most = mostBytes;
    this.#warn = warn;
  }

  /** Waits until nothing is read into a cache or out of one: no request may begin meanwhile. */
  async idle(): Promise<void> {
    await this.#work;
  }

  /**
   * Fills the caches of `handle` with the stored text that has most in common with `ids`, if that is worth it.
   * `known`: ids that some handle has read already.
   */
  recall(handle: Handle, ids: Uint32Array, known: number): Promise<void> {
    return this.#inTurn(ids, async (folder) => {
      const entries = await entriesOf(folder);
      const found = await this.#closest(folder, entries, ids);
      if (!found || found.common < known + LEAST) return;
      const { entry } = found;
      if (!this.#speeds.pays(entry.bytes, found.common - known)) return;
      const since = now();
      const isUsed = await restored(handle, folder, entry);
      if (isUsed) this.#speeds.sawDisk(entry.bytes, now() - since);
      if (!isUsed) await removeFiles(folder, entry);
      const others = entries.filter((each) => each !== entry);
      await writeIndex(folder, isUsed ? [...others, { ...entry, used: Date.now() }] : others);
    });
  }

  /**
   * Stores what `handle` has read of `ids`, where enough of it is new, and where the disk would give it back sooner
   * than the model reads it. The last argument says how the text that begins with `ids` has ended.
   */
  remember(handle: Handle, ids: Uint32Array, { usage, timings }: Ended): Promise<void> {
    this.#speeds.sawModel(usage.promptTokens - usage.cachedTokens, timings.promptTokensPerSecond);
    if (!this.#speeds.pays(this.#speeds.bytesOf(ids.length), ids.length)) return Promise.resolve();
    return this.#inTurn(ids, async (folder) => {
      const entries = await entriesOf(folder);
      const common = (await this.#closest(folder, entries, ids))?.common ?? 0;
      if (ids.length - common < Math.max(LEAST, NEW_SHARE * ids.length)) return;
      const state = await savedSession(handle, '', ids);
      const bytes = state.size + ids.byteLength;
      this.#speeds.sawSize(bytes, ids.length);
      if (bytes > this.#most || !this.#speeds.pays(bytes, ids.length)) return;
      const kept = await this.#withRoom(folder, entries, bytes);
      const entry = { name: crypto.randomUUID(), model: this.#model, tokens: ids.length, bytes, used: Date.now() };
      await writeFile(folder, `${entry.name}.ids`, new Blob([ids as Uint32Array<ArrayBuffer>]));
      await writeFile(folder, `${entry.name}.state`, state);
      await writeIndex(folder, [...kept, entry]);
    });
  }

  /** The entries that leave room for `bytes` more: those that were used longest ago go. */
  async #withRoom(folder: FileSystemDirectoryHandle, entries: readonly Entry[], bytes: number): Promise<Entry[]> {
    const kept = [...entries].sort((a, b) => a.used - b.used);
    const all = (): number => kept.reduce((sum, entry) => sum + entry.bytes, bytes);
    while (kept.length > 0 && all() > this.#most) await removeFiles(folder, kept.shift() as Entry);
    return kept;
  }

  async #closest(folder: FileSystemDirectoryHandle, entries: readonly Entry[], ids: Uint32Array) {
    let closest: Found | undefined;
    for (const entry of entries) {
      if (entry.model !== this.#model || entry.tokens <= (closest?.common ?? 0)) continue;
      const common = commonPrefix(await storedIds(folder, entry), ids);
      if (common > (closest?.common ?? 0)) closest = { entry, common };
    }
    return closest;
  }

  /** Works on the folder while no other tab does. Storage that fails is told of once, and harms no request. */
  async #inTurn(ids: Uint32Array, work: (folder: FileSystemDirectoryHandle) => Promise<void>): Promise<void> {
    // Ids of rows of images and sounds name what is in memory.
    if (this.#isOff || ids.length < LEAST || ids.some((id) => id >= FIRST_ROW)) return;
    const locked = async (): Promise<void> => {
      const folder = await (await openRoot()).getDirectoryHandle(FOLDER, { create: true });
      await navigator.locks.request(`webgguf:${FOLDER}`, () => work(folder));
    };
    const done = this.#work.then(locked);
    this.#work = done.catch(() => {});
    await done.catch((error: unknown) => {
      if (error instanceof WebggufError) throw error;
      this.#isOff = true;
      this.#warn(warningOf('what was read of prompts', error));
    });
  }
}

/** How a text has ended: how much of its prompt was read, and how fast. */
interface Ended {
  readonly usage: { readonly promptTokens: number; readonly cachedTokens: number };
  readonly timings: { readonly promptTokensPerSecond: number };
}

/** What was seen in this page of the disk and of the model. @internal */
export class Speeds {
  /** Bytes per second. */
  #disk = DISK_RATE;
  /** The most tokens per second: what is compiled first makes a first prompt slow. */
  #model = 0;
  /** Bytes of a token. */
  #size = 0;

  sawDisk(bytes: number, ms: number): void {
    if (ms > 0) this.#disk = (1000 * bytes) / ms;
  }

  /** Few tokens say nothing: a pass takes its time. */
  sawModel(tokens: number, perSecond: number): void {
    if (tokens >= LEAST) this.#model = Math.max(this.#model, perSecond);
  }

  sawSize(bytes: number, tokens: number): void {
    this.#size = bytes / tokens;
  }

  /** What `tokens` take on disk; 0 while that is not known. */
  bytesOf(tokens: number): number {
    return this.#size * tokens;
  }

  /** Whether the disk gives these bytes back sooner than the model reads `tokens`; yes, while that is not known. */
  pays(bytes: number, tokens: number): boolean {
    return this.#model === 0 || bytes / this.#disk < tokens / this.#model;
  }
}

/** Whether the caches of `handle` have what was stored. */
async function restored(handle: Handle, folder: FileSystemDirectoryHandle, { name }: Entry): Promise<boolean> {
  try {
    const state = await (await folder.getFileHandle(`${name}.state`)).getFile();
    const { end } = await headOf(handle, state);
    await restoreIn(handle, state, end);
    return true;
  } catch (error) {
    if (error instanceof WebggufError && !USELESS.includes(error.code)) throw error;
    return false;
  }
}

function commonPrefix(a: Uint32Array, b: Uint32Array): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a[at] === b[at]) at++;
  return at;
}

/** Nothing where it cannot be read. */
async function storedIds(folder: FileSystemDirectoryHandle, { name }: Entry): Promise<Uint32Array> {
  try {
    const file = await (await folder.getFileHandle(`${name}.ids`)).getFile();
    return new Uint32Array(await file.arrayBuffer());
  } catch {
    return new Uint32Array();
  }
}

/** What the index lists; nothing where it is not sound. */
async function entriesOf(folder: FileSystemDirectoryHandle): Promise<Entry[]> {
  try {
    const text = await (await (await folder.getFileHandle(INDEX)).getFile()).text();
    const entries: unknown = JSON.parse(text);
    return Array.isArray(entries) ? entries.filter(isEntry) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is Entry {
  const { name, model, tokens, bytes, used } = (value ?? {}) as Record<string, unknown>;
  const isNamed = typeof name === 'string' && /^[\da-f-]{36}$/.test(name) && typeof model === 'string';
  return isNamed && [tokens, bytes, used].every((number) => Number.isFinite(number));
}

const writeIndex = (folder: FileSystemDirectoryHandle, entries: readonly Entry[]): Promise<void> =>
  writeFile(folder, INDEX, new Blob([JSON.stringify(entries)]));

async function writeFile(folder: FileSystemDirectoryHandle, name: string, content: Blob): Promise<void> {
  const writable = await openWritable(folder, name);
  await writable.write(content);
  await writable.close();
}

async function removeFiles(folder: FileSystemDirectoryHandle, { name }: Entry): Promise<void> {
  for (const kind of ['ids', 'state']) await folder.removeEntry(`${name}.${kind}`).catch(() => {});
}
