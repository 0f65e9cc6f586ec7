/**
 * What is known of a stored file: a small JSON beside its bytes, replaced as a whole. Segments that it does not list
 * do not exist, so a crash at any moment leaves a shorter file, never a wrong one.
 */

/** Bytes of a segment, unless the download ends or is slow. @internal */
export const SEGMENT_BYTES = 32 << 20;

/** No file that anybody loads has more: bounds what a broken state can ask for. */
const MOST_SEGMENTS = 1 << 16;

/** One file of a model. @internal */
export interface FileState {
  /** The version of this format. */
  readonly version: 1;
  /** What the model is called: a URL, or the page's `cacheKey`. */
  readonly key: string;
  /** Where the bytes came from, without signatures. */
  readonly url: string;
  /** Other names that led to this model, such as `owner/repo:Q4_K_M`. */
  readonly aliases: readonly string[];
  /** Which of the model's files this is, counted from 1, and how many there are. */
  readonly part: number;
  readonly parts: number;
  /** Bytes of the whole file; not known before its end where the server does not say it. */
  readonly size?: number | undefined;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  /** Whether it came from another origin, where `If-Range` would need the server's consent. */
  readonly crossOrigin: boolean;
  /** Bytes of each segment, in order. */
  readonly segments: readonly number[];
  /** All bytes are there, and length and digest were right. */
  readonly complete: boolean;
  /** The digest that was checked, in lower-case hexadecimal. */
  readonly sha256?: string | undefined;
  /** When it was loaded last, in milliseconds since 1970. */
  readonly used: number;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length <= MOST_SEGMENTS && value.every(check);

const CHECKS: Record<keyof FileState, Check> = {
  version: (value) => value === 1,
  key: isText,
  url: isText,
  aliases: listOf(isText),
  part: isCount,
  parts: isCount,
  size: optional(isCount),
  etag: optional(isText),
  lastModified: optional(isText),
  crossOrigin: (value) => typeof value === 'boolean',
  segments: listOf(isCount),
  complete: (value) => typeof value === 'boolean',
  sha256: optional(isText),
  used: isCount,
};

/** The state in `text`, or `undefined` for anything that is none. @internal */
export function parseState(text: string): FileState | undefined {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const isState = Object.entries(CHECKS).every(([name, check]) => check(value[name]));
  if (!isState) return undefined;
  const state = value as unknown as FileState;
  const stored = sum(state.segments);
  return stored > (state.size ?? Infinity) || (state.complete && stored !== state.size) ? undefined : state;
}

/** @internal */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
