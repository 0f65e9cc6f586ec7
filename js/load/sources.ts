/**
 * Every kind of source, and arrays of them, as the byte sources that Rust pulls from.
 */
import { asBytes, fromBlob, fromBytes, fromRanges, fromStream, isNative } from './bytes.js';
import { CachedDownload } from './cache/cached-download.js';
import { shownUrl } from './cache/key.js';
import { storedAs } from './cache/models.js';
import { type CacheUse, openCached } from './cache/open.js';
import { warner } from './cache/warning.js';
import { cancellable } from '../cancel.js';
import { files } from '../engine/files.js';
import { Download } from './download.js';
import { announcedSize, requestFor, statusOf } from './responses.js';
import { WebggufError, fromWasm, invalidArgument } from '../errors.js';
import { aliasOf, chooseFile, fileRequest, type HubName, hubName, storedRequest } from './hub.js';
import { show } from '../check.js';
import { type Patience, patienceOf } from './patience.js';
import type { RangedSource, Source, SourceOptions, SourcePart } from '../types/source.js';
import type { LoadSource } from './source.js';
import type { ByteSource } from '../wasm/webgguf.js';

/** The end of the name of one part of a split file; a query may follow in a URL. */
const SPLIT = /-(\d{5})-of-(\d{5})(\.gguf)(?=$|[?#])/i;
/** More parts than any real model has: keeps a typing error from a thousand requests. */
const MOST_PARTS = 512;

/** How sources are opened. @internal */
export interface OpenOptions extends Omit<SourceOptions, 'cache'> {
  /** As in the options of `load`; `read` uses what is stored, and stores nothing. */
  cache?: SourceOptions['cache'] | 'read';
  /** `first` opens just the first part, which holds all metadata. */
  only?: 'first' | undefined;
}

/**
 * Loads something from `source`, and what the cache has of it is checked: where it turns out to be wrong, it is
 * dropped, and `work` gets the file once more from the server.
 *
 * @param work pulls the sources; what it gives is freed by `free` where the file turns out to be wrong after it
 * @throws {WebggufError} what `work` and `openSources` throw; `integrity_failed`
 * @internal
 */
export async function withSources<T>(
  source: Source,
  options: OpenOptions,
  { signal, work, free }: { signal: AbortSignal; work(sources: ByteSource[]): Promise<T>; free(made: T): void },
): Promise<T> {
  let usedStored = false;
  const attempt = (): Promise<T> =>
    cancellable(signal, async (scope) => {
      const sources = await openSources(source, scope, options);
      let made: T | undefined;
      try {
        made = await work(sources);
        await Promise.all(sources.map((part) => part.finish?.()));
        return made;
      } catch (error) {
        if (made !== undefined) free(made);
        usedStored = sources.some((part) => part.usedStored);
        if (isWrongFile(error)) await Promise.all(sources.map((part) => part.discard?.()));
        for (const part of sources) part.cancel();
        throw error;
      }
    });
  try {
    return await attempt();
  } catch (error) {
    if (!usedStored || !isWrongFile(error) || signal.aborted) throw error;
    return attempt();
  }
}

/** Whether other bytes might have been fine. */
function isWrongFile(error: unknown): boolean {
  const known = fromWasm(error);
  return known instanceof WebggufError && (known.code === 'bad_file' || known.code === 'integrity_failed');
}

/**
 * Opens `source`: the first file right away, of the others only the sizes are asked for.
 *
 * @param signal ends every request and read; its reason is what they reject with
 * @throws {WebggufError} `download_failed`, `invalid_argument`
 * @internal
 */
export async function openSources(
  source: Source,
  signal: AbortSignal,
  options: OpenOptions = { cache: false },
): Promise<LoadSource[]> {
  const { parts, alias, key: storedKey, isHub = false } = await expand(source, options, signal);
  const wanted = options.only === 'first' ? parts.slice(0, 1) : parts;
  const sha256 = digests(options.sha256, parts.length);
  let opened: LoadSource[] = [];
  try {
    const { cache: mode, cacheKey: key = storedKey, onWarning } = options;
    // Who wants a header alone has no use for what lies far ahead.
    const patience = patienceOf(mode === 'read' ? { ...options, connections: 1 } : options);
    const warn = warner(onWarning);
    const about = { parts: parts.length, allowsLogin: isHub, limit: options.cacheLimit, patience, warn };
    const use = { mode, key, alias, sha256, ...about };
    opened = (await throughCache(wanted, signal, use)) ?? wanted.map((part) => openPart(part, signal, patience));
    await Promise.all(opened.map((part, index) => prepare(part, index)));
    bound(opened, options.maxBytes);
    const checked = opened.map(async (part, index) => {
      const mayChange = isRanged(wanted[index]);
      const digest = sha256[index];
      if (digest === undefined || part instanceof CachedDownload) return part;
      return (await files.verified()).verified(part, digest, { signal, mayChange });
    });
    return await Promise.all(checked);
  } catch (error) {
    for (const part of opened) part.cancel();
    throw error;
  }
}

/** The parts through the cache, if all of them come from servers. */
async function throughCache(
  parts: SourcePart[],
  signal: AbortSignal,
  use: CacheUse,
): Promise<LoadSource[] | undefined> {
  if (!parts.every(isAddress)) return undefined;
  return openCached(parts.map(requestFor), signal, use);
}

/** The promised digests, one for each part or none. */
function digests(given: SourceOptions['sha256'], parts: number): string[] {
  const list = [given ?? []].flat().map((digest) => digest.toLowerCase());
  if (list.length === 0 || list.length === parts) return list;
  throw invalidArgument(`option 'sha256' has ${list.length} digests for ${parts} files`);
}

/** The first file is needed now; of the others the size, and that they exist before gigabytes are read. */
async function prepare(part: ByteSource, index: number): Promise<void> {
  if (!(part instanceof Download) && !(part instanceof CachedDownload)) return;
  await (index === 0 ? part.open() : part.probe());
}

/** The files of a source. */
interface Expanded {
  readonly parts: SourcePart[];
  /** The name by which the page asked, where it is no URL. */
  readonly alias?: string;
  /** The name under which they are stored already. */
  readonly key?: string;
  readonly isHub?: boolean;
}

/** The parts in order: an array sorted by its names, a URL of a split file with its siblings. */
async function expand(source: Source, options: OpenOptions, signal: AbortSignal): Promise<Expanded> {
  if (isList(source)) return { parts: inOrder(await Promise.all(source)) };
  const part = await source;
  const name = typeof part === 'string' ? hubName(part) : undefined;
  if (!name) return { parts: withSiblings(part) };
  if (name.file !== undefined) return { parts: withSiblings(fileRequest(name, name.file, options)), isHub: true };
  return expandChoice(name, options, signal);
}

/** The file that the hub has of a quantisation: what was stored of it, or what the hub says. */
async function expandChoice(name: HubName, options: OpenOptions, signal: AbortSignal): Promise<Expanded> {
  const alias = aliasOf(name, options.hub);
  const model = options.cache === false ? undefined : await storedAs(alias);
  const requests = model?.urls.map((url) => storedRequest(url, options)).filter((request) => request !== undefined);
  const stored = model && requests?.length === model.urls.length && { parts: requests, key: model.key };
  if (stored && options.cache !== 'revalidate') return { ...stored, alias, isHub: true };
  try {
    const file = await chooseFile(name, options, signal);
    return { parts: withSiblings(fileRequest(name, file, options)), alias, isHub: true };
  } catch (error) {
    // As with the file itself: without an answer, nothing has changed.
    if (!stored || signal.aborted) throw error;
    return { ...stored, alias, isHub: true };
  }
}

function withSiblings(part: SourcePart): SourcePart[] {
  const name = nameOf(part);
  const split = SPLIT.exec(name);
  const total = Number(split?.[2] ?? 1);
  if (!split || total <= 1) return [part];
  if (!isAddress(part)) {
    throw invalidArgument(`${name} is part ${Number(split[1])} of ${total}: give all parts as an array`);
  }
  if (total > MOST_PARTS) throw invalidArgument(`${name}: ${total} parts, at most ${MOST_PARTS} are supported`);
  return Array.from({ length: total }, (_, index) => sibling(part, name, index + 1));
}

/** A view is array-like but not an array, so only true arrays are lists of parts. */
function isList(source: Source): source is readonly (SourcePart | Promise<SourcePart>)[] {
  return Array.isArray(source);
}

/** Part `index`, counted from 1, of the split file that `part` belongs to. */
function sibling(part: string | URL | Request, name: string, index: number): SourcePart {
  const number = String(index).padStart(5, '0');
  const url = name.replace(SPLIT, (_, _own, total: string, ending: string) => `-${number}-of-${total}${ending}`);
  return part instanceof Request ? new Request(url, part) : url;
}

/** Sorts by part number where all names carry one, and says which are missing. */
function inOrder(parts: SourcePart[]): SourcePart[] {
  if (parts.length === 0) throw invalidArgument('the array of sources is empty');
  const splits = parts.map((part) => SPLIT.exec(nameOf(part)));
  if (parts.length === 1 && !splits[0]) return parts;
  if (splits.some((split) => !split)) return parts;
  const numbers = splits.map((split) => Number(split?.[1]));
  const total = Number(splits[0]?.[2]);
  const wanted = Array.from({ length: total }, (_, index) => index + 1);
  const missing = wanted.filter((number) => !numbers.includes(number));
  if (missing.length > 0 || parts.length !== total) {
    const lack = missing.length > 0 ? `, missing ${missing.join(', ')}` : '';
    throw invalidArgument(`split model: ${parts.length} files given for ${total} parts${lack}`);
  }
  return wanted.map((number) => parts[numbers.indexOf(number)] as SourcePart);
}

/** How the source calls itself; empty where it has no name. */
function nameOf(part: SourcePart): string {
  if (typeof part === 'string') return part;
  if (part instanceof URL) return part.href;
  if (part instanceof Request || part instanceof Response) return part.url;
  const name: unknown = typeof part === 'object' && part !== null && 'name' in part ? part.name : undefined;
  return typeof name === 'string' ? name : '';
}

/** The byte source of one part. @internal */
export function openPart(part: SourcePart, signal: AbortSignal, patience: Patience = patienceOf({})): LoadSource {
  if (isByteSource(part)) return part;
  if (isAddress(part)) return new Download(requestFor(part), signal, patience);
  if (part instanceof Response) return fromResponse(part, signal);
  if (part instanceof Blob) return fromBlob(part, signal);
  const bytes = asBytes(part);
  if (bytes) return fromBytes(bytes, 'the buffer');
  if (isStream(part)) return fromStream(part, signal, { name: 'the stream' });
  if (isRanged(part)) {
    const read = part.read.bind(part);
    return fromRanges({ size: part.size, name: part.name ?? 'the source', read }, signal);
  }
  throw invalidArgument(
    'unknown kind of source: expected a URL, Request, Response, Blob, File, ArrayBuffer or view, ReadableStream ' +
      `or { size, read(offset, length) }, found ${show(part)}`,
  );
}

/** The body of an answer to a page's own request; it cannot be requested again, so a cut is final. */
function fromResponse(response: Response, signal: AbortSignal): ByteSource {
  const name = shownUrl(response.url) || 'the response';
  if (response.bodyUsed) throw invalidArgument(`${name}: the body was read already`);
  if (!response.ok) {
    throw new WebggufError('download_failed', `${name}: ${statusOf(response)}`);
  }
  if (!response.body) throw new WebggufError('download_failed', `${name}: the response has no body`);
  return fromStream(response.body, signal, { name, size: announcedSize(response), isNative: isNative(response) });
}

function isAddress(part: SourcePart): part is string | URL | Request {
  return typeof part === 'string' || part instanceof URL || part instanceof Request;
}

/** What stands in for a source of another thread, see `remote-sources.ts`. */
function isByteSource(part: unknown): part is ByteSource {
  const { next, cancel } = (part ?? {}) as Partial<ByteSource>;
  return typeof next === 'function' && typeof cancel === 'function';
}

function isStream(part: unknown): part is ReadableStream<unknown> {
  return typeof (part as Partial<ReadableStream> | null)?.getReader === 'function';
}

function isRanged(part: unknown): part is RangedSource {
  const { size, read } = (part ?? {}) as Partial<RangedSource>;
  if (typeof read !== 'function') return false;
  if (Number.isSafeInteger(size) && (size as number) >= 0) return true;
  throw invalidArgument(`the source's size must be a number of bytes, found ${show(size)}`);
}

/**
 * Makes sources count what they give.
 *
 * @param parts the files of a model; their `next` is replaced
 * @throws {WebggufError} `limit_exceeded`, here where the sizes are known, else from `next`
 */
function bound(parts: readonly LoadSource[], maxBytes: number | undefined): void {
  if (maxBytes === undefined) return;
  const known = parts.reduce((sum, { size = 0 }) => sum + size, 0);
  if (known > maxBytes) throw tooLarge(parts, `${known}`, maxBytes);
  let given = 0;
  for (const part of parts) {
    const next = part.next.bind(part);
    part.next = async () => {
      const piece = await next();
      given += piece?.length ?? 0;
      if (given > maxBytes) throw tooLarge(parts, `${given} or more`, maxBytes);
      return piece;
    };
  }
}

function tooLarge([first]: readonly LoadSource[], found: string, maxBytes: number): WebggufError {
  return new WebggufError('limit_exceeded', `${first?.name}: the model has ${found} bytes, 'maxBytes' is ${maxBytes}`);
}
