/**
 * What downloads are made of: what is missing of a file, and what a read gives.
 */
import type { FileFacts } from './responses.js';

/** Where a download goes on that was broken off earlier. @internal */
export interface Resume {
  /** The first byte that is missing. */
  readonly at: number;
  /** The version of the file that the bytes before it are of. */
  readonly facts: FileFacts;
  /** The end of a part that is fetched by itself; nothing else will do. */
  readonly until?: number;
}

/** What a download gives: the next bytes, as `ByteSource.next`, its end, or that it is paused. @internal */
export type NextPiece = Uint8Array | 'paused' | undefined;

/** One read: what it gave, or the exception that broke the stream. @internal */
export interface Step {
  readonly piece?: NextPiece;
  readonly broken?: unknown;
  /** Whether another connection may bring what this one did not. */
  readonly atOnce?: boolean;
}

/** A range of a file that is not read yet. @internal */
export interface Rest {
  /** The first byte. */
  readonly at: number;
  /** The byte after the last one. In a request: the end of the file, unless given. */
  readonly until: number | undefined;
  /** The version of the file. */
  readonly facts: FileFacts | undefined;
}
