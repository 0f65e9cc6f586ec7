/**
 * How something that is being said reads with the text model: ids, and rows that a generator of sounds has made.
 */
import type { WasmModel } from '../wasm/webgguf.js';
import type { ToFrames } from './lfm3.js';
import type { Utterance } from './pocket.js';

/** A piece of its sound. @internal */
export interface Said {
  readonly samples: Float32Array;
  readonly isLast: boolean;
  /** The latents, or the codes of frames, for comparisons with other engines. */
  readonly latents: readonly Float32Array[];
}

/** Rows among the ids of a text. @internal */
export interface Rows {
  readonly at: number;
  readonly digest: string;
  readonly values: Float32Array;
}

/** The text model. @internal */
export interface Reader {
  readonly contextLength: number;
  /** The first id of rows. */
  know(digest: string, count: number): number;
  /** The state of the last of `ids`, among which are these rows. */
  state(ids: Uint32Array, rows: readonly Rows[], signal?: AbortSignal): Promise<Float32Array>;
}

/** What a reader needs of the engine: `run` runs work of the handle in its turn. @internal */
export interface Text {
  readonly handle: Pick<WasmModel, 'commonPrefix' | 'rowWidth' | 'addRows' | 'knowRows' | 'nextState'>;
  readonly contextLength: number;
  run(work: () => Promise<Float32Array | undefined>, signal?: AbortSignal): Promise<Float32Array>;
}

/** What a vocoder is asked to say. @internal */
export type ToSay = Utterance | ToFrames;

/** A vocoder that says it. @internal */
export interface Speaker {
  /** The first piece of what is asked, or the next one. */
  say(asked: ToSay | undefined, text: Text, signal?: AbortSignal): Promise<Said>;
}

/** The model as a speech reads with it. @internal */
export function readerOf({ handle, contextLength, run }: Text): Reader {
  const state: Reader['state'] = (ids, rows, signal) => {
    const work = (): Promise<Float32Array | undefined> => {
      const known = Math.min(handle.commonPrefix(ids), ids.length - 1);
      const width = handle.rowWidth();
      for (const { at, digest, values } of rows) {
        if (at + values.length / width > known) handle.addRows(digest, 0, values);
      }
      return handle.nextState(ids);
    };
    return run(work, signal);
  };
  return { contextLength, know: (digest, count) => handle.knowRows(digest, 0, count), state };
}

/** 16 hexadecimal digits that nothing else has. @internal */
export function randomDigest(): string {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
}
