/**
 * `EmbeddingModelV4`, and its versions 2 and 3, over a model that is loaded at the first call.
 */
import type { LazyModel } from '../model/lazy-model.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { EmbeddingRequest } from '../openai/types.js';
import type { SpecificationVersion, WebggufEmbeddingModel } from './types.js';

type EmbedCall = Parameters<WebggufEmbeddingModel['doEmbed']>[0];

/** @internal */
export class EmbeddingModel implements WebggufEmbeddingModel<SpecificationVersion> {
  readonly specificationVersion: SpecificationVersion;
  readonly provider = 'webgguf.embedding';
  readonly modelId: string;
  /** Any number: the model takes them in batches. */
  readonly maxEmbeddingsPerCall = undefined;
  /** Requests queue. */
  readonly supportsParallelCalls = false;
  readonly #lazy: LazyModel;

  constructor(specificationVersion: SpecificationVersion, modelId: string, lazy: LazyModel) {
    knowItself(this);
    this.specificationVersion = specificationVersion;
    this.modelId = modelId;
    this.#lazy = lazy;
  }

  async doEmbed({
    values,
    abortSignal: signal,
    providerOptions,
  }: EmbedCall): ReturnType<WebggufEmbeddingModel['doEmbed']> {
    const model = await this.#lazy.load(signal);
    const further = providerOptions?.webgguf as Partial<EmbeddingRequest> | undefined;
    const request = { ...further, input: values, encoding_format: 'float' as const };
    const { data, usage } = await model.embeddings.create(request, { signal });
    const embeddings = data.map(({ embedding }) => embedding);
    return { embeddings, usage: { tokens: usage.total_tokens }, warnings: [] };
  }
}
throughProxies(EmbeddingModel);
