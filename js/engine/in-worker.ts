/**
 * The engine in a worker of its own: the same calls, sent there.
 */
import { abortable, cancellable } from '../cancel.js';
import { whenGone } from './alive.js';
import { Channel, type Handler } from './channel.js';
import type { Input } from '../model/embedding.js';
import {
  type EmbedCall,
  type RankCall,
  type EncodedParts,
  type Engine,
  type EvaluateCall,
  type Inserted,
  type Prompt,
  type PromptPart,
  PromptReport,
  type Restored,
  type StartOptions,
} from './engine.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { later } from './later.js';
import type { Hosting } from '../shared/messages.js';
import type { Begun, Said, ToHear, ToSay } from '../voice/reader.js';
import type { SoundPart } from '../voice/vocoder.js';
import { SourceHost } from './remote-sources.js';
import type { GenerationResult, Piece } from '../types/generate.js';
import type { ModelInfo, ModelState, PrefixCacheUse } from '../types/info.js';
import type { LoadOptions, Progress } from '../types/load.js';
import type { Evaluation } from '../types/read.js';
import type { Source } from '../types/source.js';
import { initForWorker } from '../wasm/instance.js';
import type { Conversation } from '../templates/types.js';
import type { TensorHandle } from '../wasm/webgguf.js';
import { startWorker } from '../worker-start.js';

/** Number of pieces that are asked for ahead, so that the worker does not wait for a busy page. */
const AHEAD = 32;
/** How long a worker may take to free its model before it is ended all the same, in milliseconds. */
const GRACE = 1000;

/** A worker that runs, or a thread of another tab, and how to end the connection to it. @internal */
export interface Connection {
  /** Fires when the worker was lost. */
  readonly lost: AbortSignal;
  /** Fires when the worker is gone, however it went. */
  readonly ended: AbortSignal;
  readonly channel: Channel;
  /** For each engine the listener of its prompt's progress. */
  readonly readers: Map<number, StartOptions['onProgress']>;
  /** The state of the model there, as far as it has told. */
  state?: ModelState;
  /** Ends the worker; calls without a reply reject with `error`. */
  end(error: unknown): void;
}

/** @internal */
export class WorkerEngine implements Engine {
  readonly info: ModelInfo;
  readonly #connection: Connection;
  /** The number of this engine in the worker; 1 is the loaded model. */
  readonly #number: number;
  readonly #ahead: Promise<Piece | undefined>[] = [];
  /** Tells how far the reading of the prompt is. */
  #report = new PromptReport(undefined, () => {});
  /** Ends the downloads of images and sounds of the text that is to be written. */
  #reading = new AbortController();

  constructor(connection: Connection, number: number, info: ModelInfo) {
    this.#connection = connection;
    this.#number = number;
    this.info = info;
  }

  get isLost(): boolean {
    return this.#connection.lost.aborted;
  }

  get state(): ModelState {
    return this.#connection.state ?? 'ready';
  }

  /** `options` are checked; see {@link WasmModel.load}. */
  static async load(source: Source, options: LoadOptions): Promise<WorkerEngine> {
    const { signal, onProgress, onWarning, download } = options;
    return cancellable(signal, async (scope) => {
      const host = new SourceHost(scope);
      const { load, transfer } = await host.sendLoad(source, options);
      const failure = new AbortController();
      const progress = ([progress]: Progress[]): void => {
        try {
          onProgress?.(progress as Progress);
        } catch (error) {
          failure.abort(error);
          throw error;
        }
      };
      scope.addEventListener('abort', () => failure.abort(scope.reason), { once: true });
      const warning: Handler = ([found]) => onWarning?.(found);
      const state: Handler = ([state]) => void (connection.state = state);
      const connection = await connect({ ...host.handlers, progress, warning, state }, failure.signal);
      try {
        const callbacks = { onProgress: onProgress !== undefined, onWarning: onWarning !== undefined };
        const settings = await initForWorker();
        const args = [load, { ...callbacks, paused: download?.paused }, settings];
        const { channel, ended } = connection;
        const onPause = (): void => void channel.call('pause', [download?.paused]).catch(() => {});
        download?.addEventListener('change', onPause, { signal: ended });
        const loading = channel.call<[number, ModelInfo]>('load', args, { transfer });
        return new WorkerEngine(connection, ...(await abortable(loading, failure.signal)));
      } catch (error) {
        connection.end(error);
        throw error;
      } finally {
        host.cancel();
      }
    });
  }

  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Promise<Uint32Array> {
    return this.#call('tokenize', text, addSpecial, parseSpecial);
  }

  detokenize(ids: Uint32Array, showSpecial: boolean): Promise<string> {
    return this.#call('detokenize', ids, showSpecial);
  }

  /** Images and sounds stay here: a template writes marks for them, and is told of their kinds. */
  applyChatTemplate({ media, ...conversation }: Conversation): Promise<string> {
    const kinds = media?.map((medium) => ('audio' in medium ? { audio: null } : { image: null }));
    return this.#call('applyChatTemplate', { ...conversation, ...(kinds && { media: kinds }) });
  }

  async lane(prompt: Prompt, adapters: StartOptions['adapters'], signal?: AbortSignal): Promise<Engine> {
    if ((this.info.parallel ?? 1) === 1) return this;
    return new WorkerEngine(this.#connection, await this.#withContents('lane', prompt, signal, adapters), this.info);
  }

  start(prompt: Prompt, { onProgress, ...options }: StartOptions): Promise<void> {
    this.#ahead.length = 0;
    this.#report = new PromptReport(onProgress, () => this.cancel());
    this.#connection.readers.set(this.#number, this.#report.tell);
    this.#reading = new AbortController();
    const call = { ...options, onProgress: onProgress !== undefined };
    return this.#unlessThrown(this.#withContents('start', prompt, this.#reading.signal, call, this.#number));
  }

  #unlessThrown<T>(call: Promise<T>): Promise<T> {
    const report = this.#report;
    return call.finally(() => report.check());
  }

  next(): Promise<Piece | undefined> {
    while (this.#ahead.length < AHEAD) {
      const piece = this.#call<Piece | undefined>('next');
      piece.catch(() => {}); // reported by the `next` that gets it, if one does
      this.#ahead.push(piece);
    }
    return this.#unlessThrown(this.#ahead.shift() as Promise<Piece | undefined>);
  }

  async insert(inserted: Inserted, kept: number): Promise<Piece | undefined> {
    const ahead = this.#ahead.splice(0);
    const piece = await this.#call<Piece | undefined>('insert', inserted, kept);
    if (!piece) this.#ahead.unshift(...ahead);
    return piece;
  }

  cancel(): void {
    this.#reading.abort();
    this.#call('cancel').catch(() => {});
  }

  finish(): Promise<GenerationResult> {
    this.#connection.readers.delete(this.#number);
    return this.#call('finish');
  }

  evaluate(ids: Uint32Array, options: EvaluateCall, signal?: AbortSignal): Promise<Evaluation> {
    return this.#connection.channel.call('evaluate', [this.#number, ids, options], { signal });
  }

  addAdapter(file: Uint8Array, scale: number): Promise<number> {
    return this.#call('addAdapter', file, scale);
  }

  removeAdapter(id: number): Promise<boolean> {
    return this.#call('removeAdapter', id);
  }

  async embed(inputs: readonly Input[], options: EmbedCall, signal?: AbortSignal): Promise<Float32Array[]> {
    // Not awaited where there is none: calls keep their order.
    const sent = inputs.some(hasMedia) ? await Promise.all(inputs.map((input) => contentsIn(input, signal))) : inputs;
    return this.#connection.channel.call('embed', [this.#number, sent, options], { signal });
  }

  rank(query: string, documents: readonly Input[], options: RankCall, signal?: AbortSignal): Promise<Float32Array[]> {
    return this.#connection.channel.call('rank', [this.#number, query, documents, options], { signal });
  }

  async hiddenStates(): Promise<TensorHandle> {
    throw invalidArgument("hiddenStates: the model runs in a worker, which shares no device: load it with 'gpu'");
  }

  async say(asked: ToSay | ToHear | Begun | undefined, signal?: AbortSignal): Promise<Said> {
    const isLong = asked && 'prompt' in asked;
    const sent = isLong ? { ...asked, prompt: await contentsIn(asked.prompt, signal) } : asked;
    return this.#connection.channel.call('say', [this.#number, sent], { signal });
  }

  voice(ids: Uint32Array, first: number, part: SoundPart, signal?: AbortSignal): Promise<Float32Array> {
    return this.#connection.channel.call('voice', [this.#number, ids, first, part], { signal });
  }

  count(prompt: Prompt, signal?: AbortSignal): Promise<number> {
    return this.#withContents('count', prompt, signal);
  }

  async encodeParts(parts: readonly PromptPart[]): Promise<EncodedParts> {
    const { partsWithContents } = await later.encodeParts();
    return this.#call('encodeParts', await partsWithContents(parts));
  }

  async another(withCache: boolean): Promise<Engine> {
    return new WorkerEngine(this.#connection, await this.#call('another', withCache), this.info);
  }

  async save(notes: string, text?: Prompt): Promise<Blob> {
    return text === undefined ? this.#call('save', notes) : this.#call('save', notes, await contentsIn(text));
  }

  async restore(saved: Blob): Promise<Restored> {
    const { engine, notes } = await this.#call<{ engine: number; notes: string }>('restore', saved);
    return { engine: new WorkerEngine(this.#connection, engine, this.info), notes };
  }

  train<T>(script: string, method: string, args: unknown[]): Promise<T> {
    return this.#call('train', script, method, args);
  }

  /** Lets tabs use the model, see `shared/host.ts`. The signal fires when its worker is gone. */
  async host(hosting: Hosting): Promise<AbortSignal> {
    await this.#call('host', hosting);
    return this.#connection.ended;
  }

  /** Ends the worker at once. */
  end(error: unknown): void {
    this.#connection.end(error);
  }

  reset(): Promise<void> {
    return this.#call('reset');
  }

  wasmMemoryBytes(): Promise<number> {
    return this.#call('wasmMemoryBytes');
  }

  prefixCache(): Promise<PrefixCacheUse> {
    return this.#call('prefixCache');
  }

  /** Frees a session; the model's engine ends the worker, which returns its memory. */
  async free(): Promise<void> {
    if (this.#number !== 1) return this.#call<void>('free').catch(() => {}); // gone with the worker
    const timeout = new Promise((resolve) => setTimeout(resolve, GRACE));
    await Promise.race([this.#call('free').catch(() => {}), timeout]);
    this.#connection.end(invalidArgument('the model was freed'));
  }

  /** A call about a prompt, in which images are pixels and sounds samples: the worker has no element and no decoder. */
  async #withContents<T>(
    method: string,
    prompt: Prompt,
    signal: AbortSignal | undefined,
    ...args: unknown[]
  ): Promise<T> {
    // Not awaited where there is none: calls keep their order.
    if (!hasMedia(prompt)) return this.#connection.channel.call(method, [this.#number, prompt, ...args], { signal });
    const { movable, withContents } = await later.imagePrompt();
    const sent = await withContents(prompt, signal);
    const transfer = method === 'start' ? movable(sent) : [];
    return this.#connection.channel.call(method, [this.#number, sent, ...args], { transfer });
  }

  #call<T>(method: string, ...args: unknown[]): Promise<T> {
    return this.#connection.channel.call(method, [this.#number, ...args]);
  }
}

/** Whether a prompt holds images or sounds. */
function hasMedia(prompt: Prompt): prompt is Conversation {
  return typeof prompt === 'object' && 'messages' in prompt && prompt.media !== undefined;
}

async function contentsIn(prompt: Prompt, signal?: AbortSignal): Promise<Prompt> {
  if (!hasMedia(prompt)) return prompt;
  const { withContents } = await later.imagePrompt();
  return withContents(prompt, signal);
}

/** Starts a worker. When `signal` fires, it ends at once. */
async function connect(handlers: ConstructorParameters<typeof Channel>[1], signal: AbortSignal): Promise<Connection> {
  const worker = await startWorker(signal);
  const readers: Connection['readers'] = new Map();
  const reading: Handler = ([number, progress]) => readers.get(number)?.(progress);
  const channel = new Channel(worker, { ...handlers, reading });
  const alive = new AbortController();
  const end = (error: unknown): void => {
    alive.abort();
    worker.terminate();
    channel.close(error);
  };
  const loss = new AbortController();
  const lost = (why: string): void => {
    loss.abort();
    end(new WebggufError('worker_lost', `${why}; load the model again`));
  };
  signal.addEventListener('abort', () => end(signal.reason), { once: true, signal: alive.signal });
  worker.addEventListener('error', ({ message }) => lost(`the worker with the model failed: ${message}`));
  worker.addEventListener('messageerror', () => lost('the worker with the model sent what cannot be read'));
  await whenGone(channel, alive.signal, () => lost('the worker with the model was ended'));
  return { channel, end, lost: loss.signal, ended: alive.signal, readers };
}
