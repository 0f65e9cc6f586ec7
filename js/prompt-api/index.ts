/**
 * webgguf/prompt-api: `LanguageModel` of the W3C's Prompt API, https://webmachinelearning.github.io/prompt-api, over a
 * model of the page's own, in every browser and in workers.
 *
 * @module webgguf/prompt-api
 */
import { findAdapter } from '../engine/adapter.js';
import { cache } from '../load/cache/cache.js';
import { LazyModel, type ModelSource } from '../model/lazy-model.js';
import type { WasmModel } from '../model/model.js';
import type { GenerateOptions } from '../types/generate.js';
import type { LoadOptions, Progress } from '../types/load.js';
import { Context } from './context.js';
import { notSupported, quotaExceeded } from './errors.js';
import { type CoreOptions, coreOptions, createOptions, type MediumKind } from './input.js';
import { type Beginning, fixed, LanguageModelSession, readAhead, translated } from './language-model.js';
import { DownloadReporter } from './monitor.js';
import { PARAMS } from './sampling.js';
import type {
  Availability,
  LanguageModelCreateCoreOptions,
  LanguageModelCreateOptions,
  LanguageModelParams,
} from './types.js';

export type { ModelSource } from '../model/lazy-model.js';
export type { LanguageModelSession } from './language-model.js';
export type * from './types.js';

/** Which model it is; the other fields are options of `WasmModel.load`. */
export interface LanguageModelOptions extends Omit<LoadOptions, 'onProgress' | 'signal'> {
  /** What `WasmModel.load` takes, or a model that is loaded or being loaded. */
  model: ModelSource;
  /** Whether the model thinks before it answers; thoughts are no part of answers. Default: what its template says. */
  enableThinking?: boolean | undefined;
  /** Hears how far the prompts of all sessions are encoded and read. The draft has nothing like it. */
  onPromptProgress?: GenerateOptions['onProgress'];
}

/** The class `LanguageModel` of the draft. */
export interface LanguageModelClass {
  /** What sessions are. */
  readonly prototype: LanguageModelSession;
  /** Whether a value is a session. */
  [Symbol.hasInstance](value: unknown): boolean;
  /** Whether a session with these options can be made. Asks no server. */
  availability(options?: LanguageModelCreateCoreOptions): Promise<Availability>;
  /**
   * A session. The first one loads the model, which all sessions share.
   *
   * @throws {DOMException} `NotSupportedError`, `NetworkError`, `QuotaExceededError`, `OperationError`
   * @throws the reason of `options.signal` when that fires
   */
  create(options?: LanguageModelCreateOptions): Promise<LanguageModelSession>;
  /** Limits and defaults of `topK` and `temperature`. */
  params(): Promise<LanguageModelParams>;
  /** Frees a model that was loaded by {@link create}; the next session loads it again. Not in the draft. */
  free(): Promise<void>;
}

/**
 * A class `LanguageModel` for a model. Nothing is loaded before the first session.
 *
 * @example
 * globalThis.LanguageModel ??= languageModel({ model: 'hf:owner/repo/file.gguf', worker: true });
 * const session = await LanguageModel.create({ initialPrompts: [{ role: 'system', content: 'Be brief.' }] });
 * for await (const text of session.promptStreaming('What is a hedgehog?')) out.textContent += text;
 */
export function languageModel(options: LanguageModelOptions): LanguageModelClass {
  const { model, enableThinking, onPromptProgress, ...load } = options;
  const lazy = new LazyModel(model, load);
  return class LanguageModel extends LanguageModelSession {
    static async availability(options?: LanguageModelCreateCoreOptions): Promise<Availability> {
      const { obstacle, media } = coreOptions(options);
      if (obstacle !== undefined || (await missingEncoder(lazy, load, media))) return 'unavailable';
      return availabilityOf(lazy, load);
    }

    static async create(options?: LanguageModelCreateOptions): Promise<LanguageModelSession> {
      const { signal, monitor, initial, ...core } = createOptions(options);
      signal?.throwIfAborted();
      const reporter = new DownloadReporter(monitor);
      try {
        const creation = { reporter, signal, initial, enableThinking, onPromptProgress, load };
        const begun = await translated(begin(lazy, core, creation));
        const session = new LanguageModel(begun);
        session.destroyWith(signal);
        return session;
      } finally {
        reporter.close();
      }
    }

    static async params(): Promise<LanguageModelParams> {
      return PARAMS;
    }

    static async free(): Promise<void> {
      await lazy.free();
    }
  };
}

async function availabilityOf(lazy: LazyModel, { backend, cacheKey, hub }: LoadOptions): Promise<Availability> {
  if (lazy.state !== 'idle') return lazy.state === 'loaded' ? 'available' : 'downloading';
  if (backend === 'webgpu' && !(await findAdapter())) return 'unavailable';
  const [first] = [lazy.source].flat();
  const source: unknown = await first;
  const isName = typeof source === 'string' || source instanceof URL || source instanceof Request;
  if (!isName) return 'available'; // in memory, or a file
  return (await cache.has(cacheKey ?? source, { hub })) ? 'available' : 'downloadable';
}

/**
 * What of `media` the model has no encoder of. One that is yet to be loaded with an encoder may have it: what that
 * reads is known once it is there.
 */
async function missingEncoder(
  lazy: LazyModel,
  { mmproj }: LoadOptions,
  media: readonly MediumKind[],
): Promise<MediumKind | undefined> {
  const source = (await lazy.source) as Partial<WasmModel>;
  if (typeof source === 'object' && 'applyChatTemplate' in source) return missingIn(source, media);
  return mmproj === undefined ? media[0] : undefined;
}

function missingIn({ info }: Partial<WasmModel>, media: readonly MediumKind[]): MediumKind | undefined {
  return media.find((kind) => !info?.media?.[kind]);
}

/** The exception for a model without an encoder that a session needs, where there is one. */
function throwMissing(kind: MediumKind | undefined): void {
  if (kind === undefined) return;
  const what = kind === 'image' ? 'images' : 'sounds';
  throw notSupported(`expectedInputs: the model has no encoder of ${what}; give it one by 'mmproj'`);
}

interface Creation extends Pick<Beginning, 'enableThinking' | 'onPromptProgress'> {
  readonly reporter: DownloadReporter;
  readonly signal: AbortSignal | undefined;
  readonly load: LoadOptions;
  readonly initial: Beginning['messages'];
}

/** Loads the model, and lets it read what the conversation begins with. */
async function begin(lazy: LazyModel, core: CoreOptions, creation: Creation): Promise<Beginning> {
  const { reporter, signal, initial, enableThinking, onPromptProgress, load } = creation;
  const messages = await fixed(initial);
  if (core.obstacle !== undefined) throw notSupported(core.obstacle);
  throwMissing(await missingEncoder(lazy, load, core.media));
  await reporter.report(0);
  const model = await lazy.load(signal, (progress: Progress) => reporter.onProgress(progress));
  await reporter.report(1);
  signal?.throwIfAborted();
  throwMissing(missingIn(model, core.media));
  if (model.info.pooling) throw notSupported(`${model.info.architecture} is a model that writes no text`);
  const session = model.session();
  try {
    const context = new Context(model, session, core.tools);
    const usage = await context.count(messages);
    if (usage >= context.window) throw quotaExceeded(usage, context.window);
    if (usage > 0) await readAhead(session, await context.text(messages).catch(() => ''), signal);
    signal?.throwIfAborted();
    const said = { enableThinking, onPromptProgress };
    return { model, session, core, ...said, messages, initial: messages.length, usage };
  } catch (error) {
    void session.free().catch(() => {});
    throw error;
  }
}
