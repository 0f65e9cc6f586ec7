/**
 * webgguf/ai-sdk: a provider of Vercel's AI SDK (`ai` 5 to 7, versions 2 to 4 of its interface for providers). It needs
 * none of the SDK's packages.
 *
 * @module webgguf/ai-sdk
 */
import { invalidArgument } from '../errors.js';
import { LazyModel, type ModelSource } from '../model/lazy-model.js';
import { show } from '../check.js';
import type { PromptProgress } from '../types/generate.js';
import type { LoadOptions } from '../types/load.js';
import { DecisionModel } from './decision-model.js';
import { EmbeddingModel } from './embedding-model.js';
import { noSuchModel } from './errors.js';
import { LanguageModel } from './language-model.js';
import { RerankingModel } from './reranking-model.js';
import { SpeechModel } from './speech-model.js';
import type {
  SpecificationVersion,
  WebggufDecisionModel,
  WebggufEmbeddingModel,
  WebggufLanguageModel,
  WebggufRerankingModel,
  WebggufSpeechModel,
} from './types.js';
import { LanguageModelV2 } from './version-2.js';

export type { ModelSource } from '../model/lazy-model.js';
export type * from './types.js';

/** A model, or what {@link WebggufProvider} names it by. */
type Named = string | ModelSource;

const VERSIONS: readonly unknown[] = ['v2', 'v3', 'v4'] satisfies SpecificationVersion[];

/** The models of a provider; the other fields are options of `WasmModel.load` for those that it loads. */
export interface WebggufProviderOptions<V extends SpecificationVersion = 'v4'> extends Omit<LoadOptions, 'signal'> {
  /** Models by names that `webgguf(name)` takes. */
  models?: Readonly<Record<string, ModelSource>> | undefined;
  /** The interface of the models: `v4` (the default) for `ai` 7, `v3` for `ai` 6, `v2` for `ai` 5. */
  specificationVersion?: V | undefined;
  /** Hears how far prompts are encoded and read, of all models. `onProgress` hears of loading. */
  onPromptProgress?: ((progress: PromptProgress) => void) | undefined;
}

/**
 * Gives models for `streamText` and its like: by a name of `models`; by an address or a name on the hub, which `load`
 * takes; or a `WasmModel` itself. A model is loaded at the first call, once for all that name it.
 */
export interface WebggufProvider<V extends SpecificationVersion = 'v4'> {
  (model: string | ModelSource): WebggufLanguageModel<V>;
  /** The version of the interface. */
  readonly specificationVersion: V;
  /** A model that writes text; calling the provider itself gives the same. */
  languageModel(model: string | ModelSource): WebggufLanguageModel<V>;
  /** For `embed` and `embedMany`; embedders as `WasmModel.embed` takes them. */
  embeddingModel(model: string | ModelSource): WebggufEmbeddingModel<V>;
  /** The same, by its name in `ai` 5. */
  textEmbeddingModel(model: string | ModelSource): WebggufEmbeddingModel<V>;
  /** For `rerank` of `ai` 6 and 7; rerankers as `WasmModel.rank` takes them. */
  rerankingModel(model: string | ModelSource): WebggufRerankingModel<V>;
  /** For `generateSpeech`; models that speak, with the option `vocoder` of `load`. */
  speechModel(model: string | ModelSource): WebggufSpeechModel<V>;
  /** The same, by its shorter name. */
  speech(model: string | ModelSource): WebggufSpeechModel<V>;
  /** For `experimental_decide` of `ai` 7; any model that writes text. See `webgguf/decide`. */
  decisionModel(model: string | ModelSource): WebggufDecisionModel;
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
 *
 * @throws {WebggufError} `invalid_argument`: a `specificationVersion` that there is not
 */
export function createWebgguf<V extends SpecificationVersion = 'v4'>({
  models = {},
  specificationVersion = 'v4' as V,
  onPromptProgress,
  ...load
}: WebggufProviderOptions<V> = {}): WebggufProvider<V> {
  if (!VERSIONS.includes(specificationVersion)) {
    throw invalidArgument(`specificationVersion: expected v2, v3 or v4, found ${show(specificationVersion)}`);
  }
  const known = new Map<unknown, LazyModel>();
  const lazyOf = (model: Named): LazyModel => {
    if (model === undefined || model === null || model === '') {
      throw invalidArgument(`webgguf: expected a model or its name, found ${show(model)}`);
    }
    const source = typeof model === 'string' && Object.hasOwn(models, model) ? models[model] : model;
    const found = known.get(model) ?? new LazyModel(source as ModelSource, load);
    known.set(model, found);
    return found;
  };
  const newest = (model: Named): LanguageModel =>
    new LanguageModel(specificationVersion, nameOf(model), lazyOf(model), onPromptProgress);
  const languageModel = (model: Named): LanguageModel | LanguageModelV2 =>
    specificationVersion === 'v2' ? new LanguageModelV2(newest(model)) : newest(model);
  const embeddingModel = (model: Named): EmbeddingModel =>
    new EmbeddingModel(specificationVersion, nameOf(model), lazyOf(model));
  const speechModel = (model: Named): SpeechModel =>
    new SpeechModel(specificationVersion, nameOf(model), lazyOf(model));
  const provider = {
    specificationVersion,
    languageModel,
    embeddingModel,
    textEmbeddingModel: embeddingModel,
    rerankingModel: (model: Named): RerankingModel =>
      new RerankingModel(specificationVersion, nameOf(model), lazyOf(model)),
    speechModel,
    speech: speechModel,
    decisionModel: (model: Named): DecisionModel => new DecisionModel(nameOf(model), lazyOf(model)),
    imageModel: (modelId: string): never => {
      throw noSuchModel(modelId, 'imageModel');
    },
    free: async (): Promise<void> => {
      await Promise.all([...known.values()].map((lazy) => lazy.free()));
    },
  };
  return Object.assign(languageModel, provider) as unknown as WebggufProvider<V>;
}

/** A provider without options. */
export const webgguf: WebggufProvider = createWebgguf();

function nameOf(model: Named): string {
  if (typeof model === 'string' || model instanceof URL) return String(model);
  const { name, architecture } = (model as { info?: { name?: string; architecture?: string } }).info ?? {};
  return name ?? architecture ?? 'model';
}
