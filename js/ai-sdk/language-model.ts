/**
 * `LanguageModelV4` and `LanguageModelV3` over a model that is loaded at the first call.
 */
import type { LazyModel } from '../model/lazy-model.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { ChatChunk, RequestOptions } from '../openai/types.js';
import { partStream } from './part-stream.js';
import { failed, PartReader, wholeOf } from './parts.js';
import { requestOf, withFollowable } from './request.js';
import type {
  CallOptions,
  GenerateResult,
  SpecificationVersion,
  StreamPart,
  Warning,
  WebggufLanguageModel,
} from './types.js';

/** @internal */
export class LanguageModel implements Omit<WebggufLanguageModel, 'specificationVersion'> {
  readonly specificationVersion: SpecificationVersion;
  readonly provider = 'webgguf.chat';
  readonly modelId: string;
  /** No URL goes to a model as it is: the SDK fetches what files' parts name. */
  readonly supportedUrls = {};
  readonly #lazy: LazyModel;
  readonly #onProgress: RequestOptions['onProgress'];

  constructor(
    specificationVersion: SpecificationVersion,
    modelId: string,
    lazy: LazyModel,
    onProgress?: RequestOptions['onProgress'],
  ) {
    knowItself(this);
    this.specificationVersion = specificationVersion;
    this.modelId = modelId;
    this.#lazy = lazy;
    this.#onProgress = onProgress;
  }

  async doGenerate(options: CallOptions): Promise<GenerateResult> {
    const { warnings, parts } = await this.#begin(options);
    return wholeOf(parts, warnings);
  }

  async doStream(options: CallOptions): Promise<{ stream: ReadableStream<StreamPart> }> {
    const { warnings, parts } = await this.#begin(options);
    return { stream: partStream<StreamPart>({ type: 'stream-start', warnings }, parts, failed, options.abortSignal) };
  }

  /** Rejects where the model cannot be loaded or the request is wrong. */
  async #begin(options: CallOptions): Promise<{ warnings: Warning[]; parts: AsyncGenerator<StreamPart> }> {
    const { abortSignal: signal, includeRawChunks = false } = options;
    const { request, warnings } = requestOf(options);
    const model = await this.#lazy.load(signal);
    const followable = withFollowable(request, model.info.toolTemplate ?? model.info.chatTemplate, warnings);
    const streamed = { ...followable, stream: true as const, stream_options: { include_usage: true } };
    const chunks = await model.chat.completions.create(streamed, { signal, onProgress: this.#onProgress });
    return { warnings, parts: this.#parts(chunks, signal, includeRawChunks) };
  }

  async *#parts(
    chunks: AsyncIterable<ChatChunk>,
    signal: AbortSignal | undefined,
    includesRaw: boolean,
  ): AsyncGenerator<StreamPart> {
    const reader = new PartReader();
    let isFirst = true;
    for await (const chunk of chunks) {
      if (isFirst) yield this.#metadata(chunk);
      isFirst = false;
      if (includesRaw) yield { type: 'raw', rawValue: chunk };
      yield* reader.read(chunk);
    }
    signal?.throwIfAborted();
    yield* reader.end();
  }

  #metadata({ id, created }: ChatChunk): StreamPart {
    return { type: 'response-metadata', id, timestamp: new Date(created * 1000), modelId: this.modelId };
  }
}
throughProxies(LanguageModel);
