/**
 * webgguf/ai-sdk: a provider of Vercel's AI SDK (`ai` 7, version 4 of its interface for providers). It needs none of
 * the SDK's packages.
 */
import { invalidArgument } from '../errors.js';
import { LazyModel, type ModelSource } from '../model/lazy-model.js';
import { show } from '../options.js';
import type { LoadOptions } from '../types.js';
import { EmbeddingModel } from './embedding-model.js';
import { noSuchModel } from './errors.js';
import { LanguageModel } from './language-model.js';
import type { WebggufEmbeddingModel, WebggufLanguageModel } from './types.js';

export type { ModelSource } from '../model/lazy-model.js';
export type * from './types.js';

/** The models of a provider; the rest are options of `WasmModel.load` for those that it loads. */
export interface WebggufProviderOptions extends Omit<LoadOptions, 'signal'> {
  /** Models by names that `webgguf(name)` takes. */
  models?: Readonly<Record<string, ModelSource>> | undefined;
}

/**
 * Gives models for `streamText` and its like: by a name of `models`; by an address or a name on the hub, which `load`
 * takes; or a `WasmModel` itself. A model is loaded at the first call, once for all that name it.
 */
export interface WebggufProvider {
  (model: string | ModelSource): WebggufLanguageModel;
  readonly specificationVersion: 'v4';
  languageModel(model: string | ModelSource): WebggufLanguageModel;
  embeddingModel(model: string | ModelSource): WebggufEmbeddingModel;
  /** There are none: throws `NoSuchModelError`. */
  imageModel(modelId: string): never;
  /** Frees the models that were loaded here; a further call loads them again. */
  free(): Promise<void>;
}

/**
 * A provider.
 *
 * @example
 * const webgguf = createWebgguf({ worker: true });
 * const { textStream } = streamText({ model: webgguf('hf:owner/repo/file.gguf'), prompt: 'What is a hedgehog?' });
 * for await (const text of textStream) out.textContent += text;
 */
export function createWebgguf({ models = {}, ...load }: WebggufProviderOptions = {}): WebggufProvider {
  const known = new Map<unknown, LazyModel>();
  const lazyOf = (model: string | ModelSource): LazyModel => {
    if (model === undefined || model === null || model === '') {
      throw invalidArgument(`webgguf: expected a model or its name, found ${show(model)}`);
    }
    const source = typeof model === 'string' && Object.hasOwn(models, model) ? models[model] : model;
    const found = known.get(model) ?? new LazyModel(source as ModelSource, load);
    known.set(model, found);
    return found;
  };
  const languageModel = (model: string | ModelSource): WebggufLanguageModel =>
    new LanguageModel(nameOf(model), lazyOf(model));
  return Object.assign(languageModel, {
    specificationVersion: 'v4' as const,
    languageModel,
    embeddingModel: (model: string | ModelSource): WebggufEmbeddingModel =>
      new EmbeddingModel(nameOf(model), lazyOf(model)),
    imageModel: (modelId: string): never => {
      throw noSuchModel(modelId, 'imageModel');
    },
    free: async (): Promise<void> => {
      await Promise.all([...known.values()].map((lazy) => lazy.free()));
    },
  });
}

/** A provider without options. */
export const webgguf: WebggufProvider = createWebgguf();

function nameOf(model: string | ModelSource): string {
  if (typeof model === 'string' || model instanceof URL) return String(model);
  const { name, architecture } = (model as { info?: { name?: string; architecture?: string } }).info ?? {};
  return name ?? architecture ?? 'model';
}
