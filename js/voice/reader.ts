/**
 * How something that is being said reads with the text model: ids, and rows that a generator of sounds has made.
 */
import type { ChosenToken, GenerationResult } from '../types/generate.js';
import type { WasmModel } from '../wasm/webgguf.js';
import type { Begun, Choice, ToSay } from './asked.js';

export type { Begun, ToHear, ToSay } from './asked.js';

/** A piece of its sound, or of an answer. @internal */
export interface Said {
  readonly samples: Float32Array;
  readonly isLast: boolean;
  /** The latents, or the codes of frames, for comparisons with other engines. */
  readonly latents: readonly Float32Array[];
  /** What an answer of text and sound has written: text, and the token. */
  readonly text?: string;
  readonly id?: number;
  /** The token, where its log-probability is wanted and it is text. */
  readonly token?: ChosenToken;
  /** What hears waits for more of the sound, or until another sound is over. */
  readonly waits?: boolean;
  /** Samples of the sound for which the context has room. */
  readonly left?: number;
}

/** Rows among the ids of a text. @internal */
export interface Rows {
  readonly at: number;
  readonly digest: string;
  readonly values: Float32Array;
  /** For an image: rows side by side, and where it lies. */
  readonly columns?: number;
  readonly canvas?: number | undefined;
}

/** The text model. @internal */
export interface Reader {
  readonly contextLength: number;
  /** The first id of rows. */
  know(digest: string, count: number): number;
  /** The state of the last of `ids`, among which are these rows. */
  state(ids: Uint32Array, rows: readonly Rows[], signal?: AbortSignal): Promise<Float32Array>;
  /** The token behind them; `end` where it ends the text. */
  token(ids: Uint32Array, rows: readonly Rows[], choice: Choice, signal?: AbortSignal): Promise<number | 'end'>;
  /** The text of tokens. */
  text(ids: readonly number[]): string;
}

type Handle = Pick<WasmModel, 'commonPrefix' | 'rowWidth' | 'addRows' | 'knowRows' | 'nextState'> &
  Pick<WasmModel, 'start' | 'next' | 'finish' | 'detokenize' | 'tokenize' | 'encodePrompt' | 'delay' | 'hear'>;

/** What a reader needs of the engine: `run` runs work of the handle in its turn. @internal */
export interface Text {
  readonly handle: Handle;
  readonly contextLength: number;
  /** The rows of the images and sounds of a prompt. */
  readonly media?: readonly Omit<Rows, 'at'>[];
  run<T>(work: () => Promise<T | undefined>, signal?: AbortSignal): Promise<T>;
}

/** A vocoder that says it. @internal */
export interface Speaker {
  /** The first piece of what is asked, or the next one: of what was begun by this name, else of what was last. */
  say(asked: ToSay | Begun | undefined, text: Text, signal?: AbortSignal): Promise<Said>;
}

/** The model as a speech reads with it. @internal */
export function readerOf({ handle, contextLength, run }: Text): Reader {
  const add = (rows: readonly Rows[], known: number): void => {
    const width = handle.rowWidth();
    for (const { at, digest, values, columns = 0, canvas } of rows) {
      if (at + values.length / width > known) handle.addRows(digest, columns, values, canvas);
    }
  };
  const state: Reader['state'] = (ids, rows, signal) =>
    run(async () => {
      // Where something else was read meanwhile, more than the last one may have to be read again.
      const isNext = handle.commonPrefix(ids) === ids.length - 1;
      add(rows, isNext ? ids.length - 1 : 0);
      return handle.nextState(ids);
    }, signal);
  const token: Reader['token'] = (ids, rows, choice, signal) =>
    run(async () => {
      const { cachedTokens } = handle.start(ids, { ...choice, maxTokens: 1, isPrivate: true, followsRow: true });
      let result: Pick<GenerationResult, 'ids' | 'finishReason'>;
      try {
        add(rows, cachedTokens);
        await handle.next();
      } finally {
        result = await handle.finish();
      }
      return result.finishReason === 'abort' ? undefined : (result.ids[0] ?? 'end');
    }, signal);
  const know: Reader['know'] = (digest, count) => handle.knowRows(digest, 0, count);
  const text: Reader['text'] = (ids) => handle.detokenize(Uint32Array.from(ids), false);
  return { contextLength, know, state, token, text };
}

/** 16 hexadecimal digits that nothing else has. @internal */
export function randomDigest(): string {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
}
