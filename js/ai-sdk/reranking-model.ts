/**
 * `RerankingModelV4` and `RerankingModelV3` over a model that is loaded at the first call.
 */
import type { LazyModel } from '../model/lazy-model.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { RankOptions } from '../types/read.js';
import type { RerankCall, SpecificationVersion, WebggufRerankingModel } from './types.js';

/** @internal */
export class RerankingModel implements WebggufRerankingModel<SpecificationVersion> {
  readonly specificationVersion: SpecificationVersion;
  readonly provider = 'webgguf.reranking';
  readonly modelId: string;
  readonly #lazy: LazyModel;

  constructor(specificationVersion: SpecificationVersion, modelId: string, lazy: LazyModel) {
    knowItself(this);
    this.specificationVersion = specificationVersion;
    this.modelId = modelId;
    this.#lazy = lazy;
  }

  async doRerank({
    query,
    documents,
    topN,
    abortSignal: signal,
    providerOptions,
  }: RerankCall): ReturnType<WebggufRerankingModel['doRerank']> {
    const model = await this.#lazy.load(signal);
    const texts =
      documents.type === 'text' ? documents.values : documents.values.map((document) => JSON.stringify(document));
    const further = providerOptions?.webgguf as RankOptions | undefined;
    const scores = await model.rank(query, texts, { ...further, signal });
    const ranking = scores.map((relevanceScore, index) => ({ index, relevanceScore }));
    ranking.sort((a, b) => b.relevanceScore - a.relevanceScore);
    return { ranking: ranking.slice(0, topN) };
  }
}
throughProxies(RerankingModel);
