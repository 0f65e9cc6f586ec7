/**
 * `embeddings.create` over a model that is loaded.
 */
import type { ChatModel } from './chat-model.js';
import { base64 } from '../base64.js';
import { signalOption } from '../check.js';
import { isContent } from '../model/embedding.js';
import type { EmbedInput, EmbedTask, TokenIds } from '../types/read.js';
import { nameOf } from './completions.js';
import { checkEmbedding } from './request.js';
import type { EmbeddingRequest, EmbeddingResponse, RequestOptions } from './types.js';

/** Vectors of texts. */
export interface Embeddings {
  /**
   * Vectors of texts or token ids, in the shapes of OpenAI's API, of length 1.
   *
   * @throws {WebggufError} the errors of `embed`
   */
  create(
    request: EmbeddingRequest & { encoding_format: 'base64' },
    options?: RequestOptions,
  ): Promise<EmbeddingResponse<string>>;
  /** Vectors as numbers. */
  create(
    request: EmbeddingRequest & { encoding_format?: 'float' | null | undefined },
    options?: RequestOptions,
  ): Promise<EmbeddingResponse>;
  /** Either, as `encoding_format` says. */
  create(request: EmbeddingRequest, options?: RequestOptions): Promise<EmbeddingResponse<number[] | string>>;
}

/** @internal */
export class LocalEmbeddings implements Embeddings {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  create = (async (body: EmbeddingRequest, options: RequestOptions = {}) => {
    const { input, encoding_format: format = 'float', dimensions, model, task } = checkEmbedding(body);
    const signal = signalOption('embeddings.create', { signal: options?.signal ?? undefined });
    const texts = inputsOf(input as EmbeddingRequest['input']);
    const tokens = await this.#count(texts, task, signal);
    const rows = await this.#model.embed(texts, { task, signal, dimensions, onProgress: options?.onProgress });
    return {
      object: 'list',
      data: rows.map((row, index) => ({
        object: 'embedding',
        index,
        embedding: format === 'base64' ? packed(row) : [...row],
      })),
      model: model ?? nameOf(this.#model.info),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  }) as Embeddings['create'];

  async #count(inputs: EmbedInput[], task: EmbedTask | undefined, signal?: AbortSignal): Promise<number> {
    const model = this.#model;
    if (model.countInputs && (task !== undefined || inputs.some(isContent))) {
      return model.countInputs(inputs, { task, signal });
    }
    const counts = inputs.map(async (input) => {
      // A special token is text here, and BOS and the like are added, as `embed` does it.
      if (typeof input === 'string') return (await model.tokenize(input, { addSpecial: true })).length;
      return (input as TokenIds).length;
    });
    return (await Promise.all(counts)).reduce((sum, found) => sum + found, 0);
  }
}

/** An array of numbers is one input. */
function inputsOf(input: EmbeddingRequest['input']): EmbedInput[] {
  if (typeof input === 'string' || isContent(input)) return [input as EmbedInput];
  const all = input as readonly (EmbedInput | number)[];
  return typeof all[0] === 'number' ? [all as number[]] : ([...all] as EmbedInput[]);
}

/** A row as base64 of little-endian f32. */
function packed(row: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(4 * row.length));
  for (const [index, value] of row.entries()) bytes.setFloat32(4 * index, value, true);
  return base64(new Uint8Array(bytes.buffer));
}
