/**
 * Where the bytes of a model come from, and how they are fetched, kept and checked. No code here.
 */
import type { LoadWarning } from '../load/cache/warning.js';
import type { DownloadControl } from '../load/patience.js';

/** Something that reads any part of a file on request; both functions may return a promise or the value. */
export interface RangedSource {
  /** Bytes of the whole file. */
  readonly size: number;
  /** For messages; a file name or URL. */
  readonly name?: string;
  /**
   * Reads `length` bytes from `offset`. May return fewer, but at least one; `offset + length` never passes `size`.
   */
  read(offset: number, length: number): BytesLike | Promise<BytesLike>;
}

/** Bytes that are in memory. */
export type BytesLike = ArrayBufferLike | ArrayBufferView;

/**
 * One file of a model.
 *
 * - a URL (`string`, relative to the page, or `URL`) or a `Request`: streamed and kept in the cache; a cut connection
 *   is resumed by range request where the server allows it
 * - a file on Hugging Face's hub: `hf:owner/repo/file.gguf`; or `owner/repo:Q4_K_M`, where the hub is asked which file
 *   that is, and `hf:owner/repo`, which takes Q4_K_M or else Q8_0. `owner/repo@revision` names one. The address of
 *   a file's page on the hub (`https://huggingface.co/owner/repo/blob/…`) means the file
 * - a `Response` whose body was not read yet
 * - a `Blob` or `File`, read in slices
 * - an `ArrayBuffer` or a view of one
 * - a `ReadableStream` of bytes
 * - `{ size, read(offset, length) }`
 */
export type SourcePart = string | URL | Request | Response | Blob | BytesLike | ReadableStream<unknown> | RangedSource;

/**
 * Where a GGUF comes from: one file, or an array with the files of a split GGUF in order (files named
 * `…-00001-of-0000N.gguf` may come in any order). Of a URL that ends so, the other parts are found by
 * themselves. Promises of these are fine: `load(fetch(url))`.
 */
export type Source = SourcePart | Promise<SourcePart> | readonly (SourcePart | Promise<SourcePart>)[];

/** How the files of a model are found, kept and checked: options of {@link WasmModel.load}. */
export interface SourceOptions {
  /**
   * Whether files from servers are kept in the origin's private file system, so that the next load makes no request.
   * Default: yes, but for a `Request` with an `authorization` header or with `cache: 'no-store'`. `true` keeps these,
   * too; `false` neither reads nor stores; `revalidate` asks the server first whether a stored file has changed.
   */
  cache?: boolean | 'revalidate' | undefined;
  /** The name under which the model is kept, for URLs that change from time to time. Default: the URL. */
  cacheKey?: string | undefined;
  /**
   * The SHA-256 that the file must have, in hexadecimal; of a split file a list. Bytes are checked while they are
   * loaded, at about 150 MB/s; a stored file that was checked once is not checked again.
   */
  sha256?: string | readonly string[] | undefined;
  /**
   * How often in a row a request is made again: where a server is busy (HTTP status 408, 429 and 5xx) or a connection
   * breaks while a file comes. Between the tries are 0.5 s, then twice as long each time up to 8 s, or what
   * `Retry-After` says, at most 60 s. Integer from 0 to 100, default 5.
   */
  retries?: number | undefined;
  /** Milliseconds without a byte after which a connection counts as broken, at least 1. Default 30,000. */
  stallTimeout?: number | undefined;
  /**
   * Connections over which a file is fetched at once, 1 to 8, where its server gives ranges of it and says its version
   * (`ETag` or `Last-Modified`). Parts of 8 MiB come side by side and are put in order; as many wait in memory.
   * `auto` (default): 1, and 4 once that one gives less than 10 MB/s. Always 1 where the browser says that the
   * connection is metered or that data is to be saved.
   */
  connections?: number | 'auto' | undefined;
  /** Pauses and resumes the download, see {@link DownloadControl}. */
  download?: DownloadControl | undefined;
  /**
   * Refuses a model with more bytes, all files together: before any is read where the source says its size, else once
   * that number has come. Default: no bound.
   */
  maxBytes?: number | undefined;
  /**
   * Bytes that all stored models of this origin may take. Where a new one needs room, those that were loaded longest
   * ago are deleted; a model that is larger by itself, or has no room beside models that are being downloaded, is not
   * kept, and the warning `cache_full` says so. Default: no bound but the browser's.
   */
  cacheLimit?: number | undefined;
  /** Address of Hugging Face's hub or of a mirror, for sources such as `owner/repo:Q4_K_M`. */
  hub?: string | undefined;
  /** Access token for gated repositories of the hub. It is sent to `hub` alone and is not stored. */
  token?: string | undefined;
  /**
   * Called where the model loads but its file is not kept or asks for something that is not done, and where it is
   * loaded again, since the GPU device was lost. Default: the console says so, once.
   */
  onWarning?: ((warning: LoadWarning) => void) | undefined;
}

/** The options of `load` that say how a source is found and read. */
export type FoundBy = 'cacheKey' | 'hub' | 'token' | 'retries' | 'stallTimeout' | 'maxBytes';

/** Where `webgguf_bg.wasm` comes from. */
export type WasmInput = string | URL | Request | Response | BufferSource | WebAssembly.Module;
