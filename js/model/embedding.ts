/**
 * Texts for embedders and rerankers: checked, encoded, and handed over some at a time.
 */
import { stoppable } from '../cancel.js';
import type { EmbedCall, Engine, Prompt } from '../engine/engine.js';
import { invalidArgument } from '../errors.js';
import { checkIds, show } from '../check.js';
import type { ModelInfo } from '../types/info.js';
import type { EmbedContent, EmbedOptions, EmbedTask, TokenIds } from '../types/read.js';
import type { TileRows } from '../media/encoder.js';
import type { WasmModel as WasmHandle } from '../wasm/webgguf.js';

/** Inputs of one call into WebAssembly: their results are read at once. */
const GROUP = 1024;

/** A text, ids as they are, or a text with images and sounds. @internal */
export type Input = Prompt;

/** Whether an input is a part or the content of a message. @internal */
export function isContent(input: unknown): input is EmbedContent {
  return typeof input === 'object' && input !== null && ('content' in input || 'type' in input);
}

/** Checked copies of texts and ids; `what` names one of them in messages. @internal */
export function checkInputs(call: string, what: string, inputs: unknown, vocabularySize: number): Input[] {
  if (!Array.isArray(inputs)) throw invalidArgument(`${call}: expected an array of ${what}s, found ${show(inputs)}`);
  return inputs.map((input: unknown, index) => {
    if (typeof input === 'string') return input;
    if (input instanceof Uint32Array || Array.isArray(input)) {
      return checkIds(`${call}: ${what} ${index}`, input as TokenIds, vocabularySize);
    }
    throw invalidArgument(`${call}: ${what} ${index} must be a string or token ids, found ${show(input)}`);
  });
}

/** Inputs, or a promise of them where code for contents and tasks has to be fetched. */
type Given = readonly Input[] | Promise<Input[]>;

/** Fetches what checks contents. */
type Fetch = () => Promise<{ contentInputs(inputs: unknown, task: EmbedTask | undefined, info: ModelInfo): Input[] }>;

/** Checked inputs of `embed`. */
function embedInputs(inputs: unknown, task: EmbedTask | undefined, info: ModelInfo, fetch: Fetch): Given {
  if (task === undefined && !(Array.isArray(inputs) && inputs.some(isContent))) {
    return checkInputs('embed', 'text', inputs, info.vocabularySize);
  }
  const made = fetch().then(({ contentInputs }) => contentInputs(inputs, task, info));
  made.catch(() => {}); // the call reports it, unless it was ended before
  return made;
}

/** The work of `embed` on what it was given, and whether that is one input. @internal */
export function embedding(
  given: unknown,
  { onProgress, truncate = false, normalize = true, dimensions, task, signal }: EmbedOptions,
  info: ModelInfo,
  fetch: Fetch,
): { readonly work: Work; readonly isOne: boolean; readonly signal: AbortSignal | undefined } {
  const isOne = typeof given === 'string' || isContent(given);
  const inputs = embedInputs(isOne ? [given] : given, task, info, fetch);
  return { work: embedWork(inputs, onProgress, { truncate, normalize, dimensions }), isOne, signal };
}

/** Counts the tokens of inputs of `embed`. @internal */
export function countWork(given: unknown, task: EmbedTask | undefined, info: ModelInfo, fetch: Fetch) {
  const inputs = embedInputs(given, task, info, fetch);
  return async (engine: Engine, scope: AbortSignal): Promise<number> => {
    let sum = 0;
    for (const input of await inputs) sum += await engine.count(input, scope);
    return sum;
  };
}

/** Tokens between two reports, about. */
const REPORTED = 4096;
/** Characters of a token, about. */
const CHARACTERS = 4;
/** Tokens of an image or a sound, about. */
const OF_MEDIUM = 280;

type OnProgress = EmbedOptions['onProgress'];
/** The work on all inputs. */
type Work = (engine: Engine, scope: AbortSignal) => Promise<Float32Array[]>;

/** Embeds texts, some at a time where somebody hears how far it is; what `onProgress` throws ends it. */
function embedWork(inputs: Given, onProgress: OnProgress, call: EmbedCall): Work {
  return async (engine, scope) =>
    inSteps(await inputs, onProgress, (some, first) => engine.embed(some, { ...call, first }, scope));
}

/** Scores documents likewise. @internal */
export function rankWork(query: string, inputs: readonly Input[], onProgress: OnProgress, truncate: boolean): Work {
  return (engine, scope) =>
    inSteps(inputs, onProgress, (some, first) => engine.rank(query, some, { truncate, first }, scope));
}

async function inSteps(
  inputs: readonly Input[],
  onProgress: OnProgress,
  work: (some: readonly Input[], first: number) => Promise<Float32Array[]>,
): Promise<Float32Array[]> {
  // No more images and sounds are in memory than go through the model together.
  if (!onProgress && !inputs.some(hasMedia)) return work(inputs, 0);
  const total = inputs.length;
  const rows: Float32Array[] = [];
  const tell = (): void => {
    const loaded = rows.length;
    onProgress?.({ stage: 'prefill', loaded, total, fraction: total === 0 ? 1 : loaded / total });
  };
  tell();
  while (rows.length < total) {
    const first = rows.length;
    let [end, tokens] = [first, 0];
    for (; end < total && tokens < REPORTED; end += 1) {
      tokens += sizeOf(inputs[end] as Input);
    }
    rows.push(...(await work(inputs.slice(first, end), first)));
    tell();
  }
  return rows;
}

const hasMedia = (input: Input): boolean => typeof input === 'object' && 'messages' in input;

/** How many tokens an input has, about. */
function sizeOf(input: Input): number {
  if (typeof input === 'string') return 1 + input.length / CHARACTERS;
  if (input instanceof Uint32Array) return input.length;
  return sizeOf(input.text ?? '') + OF_MEDIUM * (input.media?.length ?? 0);
}

/** One group of inputs: the ids one after the other, and how many each has. @internal */
export interface Group {
  readonly ids: Uint32Array;
  readonly lengths: Uint32Array;
}

/** What a run over inputs needs. @internal */
export interface InputRun {
  readonly handle: WasmHandle;
  readonly inputs: readonly Input[];
  /** How many inputs of the call were before these: messages count them all. */
  readonly first?: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Gets the rows of images and sounds from `encode`, for the group that is run next. */
  readonly rows?: Map<string, TileRows>;
  encode(input: Exclude<Input, Uint32Array>): Uint32Array | Promise<Uint32Array>;
  /** `undefined` where it was cancelled. */
  run(group: Group): Promise<Float32Array | undefined>;
}

/**
 * The results of all inputs, a row for each. Rejects with the reason of `signal` once that fires; what the GPU has
 * begun ends by itself.
 * @internal
 */
export async function runInputs(of: InputRun): Promise<Float32Array[]> {
  const { handle, inputs, first = 0, rows: held, signal, encode, run } = of;
  const rows: Float32Array[] = [];
  for (let start = 0; start < inputs.length; start += GROUP) {
    const some = inputs.slice(start, start + GROUP);
    const encoded: Uint32Array[] = [];
    for (const input of some) encoded.push(input instanceof Uint32Array ? input : await encode(input));
    const group = joined(encoded, first + start);
    for (const rows of held?.values() ?? []) handle.addRows(rows.digest, rows.columns, rows.values, rows.canvas);
    held?.clear();
    const found = await stoppable(handle, signal, () => run(group));
    const width = found.length / some.length;
    rows.push(...some.map((_, index) => found.slice(index * width, (index + 1) * width)));
  }
  return rows;
}

function joined(inputs: readonly Uint32Array[], first: number): Group {
  const empty = inputs.findIndex((ids) => ids.length === 0);
  if (empty >= 0) throw invalidArgument(`input ${first + empty} has no tokens`);
  const lengths = Uint32Array.from(inputs, (ids) => ids.length);
  const ids = new Uint32Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const part of inputs) {
    ids.set(part, at);
    at += part.length;
  }
  return { ids, lengths };
}
