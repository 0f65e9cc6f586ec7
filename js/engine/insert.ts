/**
 * A text that is put behind what a model has written so far: the model goes on behind it. What was read stays in the KV
 * cache.
 */
import type { Piece } from '../types/generate.js';
import type { WasmGenerateOptions, WasmModel as WasmHandle } from '../wasm/webgguf.js';
import type { Inserted } from './engine.js';

/** A text that is being written. @internal */
export interface Asked {
  /** The prompt. */
  readonly ids: Uint32Array;
  readonly options: WasmGenerateOptions;
  /** What was written before the last text that was put in, with that. */
  readonly before?: Written | undefined;
}

/** Where a text is put in. */
interface Place {
  readonly kept: number;
  readonly contextLength: number;
  readonly settled: (() => Promise<unknown>) | undefined;
}

type Result = Awaited<ReturnType<WasmHandle['finish']>>;
type Written = Pick<Result, 'ids' | 'usage' | 'timings'>;

/**
 * Ends what is written after `kept` tokens, and starts again behind `text`. Gives nothing, and changes nothing, where
 * that leaves no room for a further token. @internal
 */
export async function insert(
  handle: WasmHandle,
  { ids, options, before }: Asked,
  { text, shown = text }: Inserted,
  { kept, contextLength, settled }: Place,
): Promise<{ readonly asked: Asked; readonly piece: Piece } | undefined> {
  const put = handle.tokenize(text, false, true);
  const added = kept + put.length;
  const { maxTokens } = options;
  if ((maxTokens !== undefined && maxTokens <= added) || ids.length + added >= contextLength) return undefined;
  handle.cancel();
  await settled?.();
  const cut = await handle.finish();
  const written = joined(cut.ids.subarray(0, kept), put);
  const asked = {
    ids: joined(ids, written),
    options: { ...options, ...(maxTokens !== undefined && { maxTokens: maxTokens - added }) },
    before: together(before, { ...cut, ids: written }),
  };
  handle.start(asked.ids, asked.options, undefined);
  return { asked, piece: { text: shown, ids: put } };
}

/** Counts and times of all that was written; the prompt is the first one. */
function together(before: Written | undefined, last: Result): Result {
  if (!before) return last;
  const ids = joined(before.ids, last.ids);
  const { promptTokens, cachedTokens } = before.usage;
  const sum = (key: 'acceptedDraftTokens' | 'rejectedDraftTokens'): number => before.usage[key] + last.usage[key];
  const usage = {
    ...last.usage,
    ...{ promptTokens, cachedTokens, completionTokens: ids.length, totalTokens: promptTokens + ids.length },
    ...{ acceptedDraftTokens: sum('acceptedDraftTokens'), rejectedDraftTokens: sum('rejectedDraftTokens') },
  };
  const { promptTokensPerSecond, timeToFirstTokenMs } = before.timings;
  return { ...last, ids, usage, timings: { ...last.timings, promptTokensPerSecond, timeToFirstTokenMs } };
}

/** What the engine gives at the end, with what was written before. @internal */
export const whole = ({ before }: Asked, result: Result): Result => together(before, result);

function joined(first: Uint32Array, second: Uint32Array): Uint32Array {
  const all = new Uint32Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
