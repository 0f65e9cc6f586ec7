/**
 * `embeddings.create` over a model that is loaded.
 */
import type { ChatModel } from './chat-model.js';
import { signalOption } from '../check.js';
import type { TokenIds } from '../types/read.js';
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
    const { input, encoding_format: format = 'float', dimensions, model } = checkEmbedding(body);
    const signal = signalOption('embeddings.create', { signal: options?.signal ?? undefined });
    const texts = inputsOf(input as EmbeddingRequest['input']);
    // A special token is text here, and BOS and the like are added, as `embed` does it.
    const counts = await Promise.all(texts.map((text) => this.#count(text)));
    const rows = await this.#model.embed(texts, { signal, dimensions, onProgress: options?.onProgress });
    const tokens = counts.reduce((sum, found) => sum + found, 0);
    return {
      object: 'list',
      data: rows.map((row, index) => ({
        object: 'embedding',
        index,
        embedding: format === 'base64' ? base64(row) : [...row],
      })),
      model: model ?? nameOf(this.#model.info),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  }) as Embeddings['create'];

  async #count(text: string | TokenIds): Promise<number> {
    return typeof text === 'string' ? (await this.#model.tokenize(text, { addSpecial: true })).length : text.length;
  }
}

/** An array of numbers is one input. */
function inputsOf(input: EmbeddingRequest['input']): (string | TokenIds)[] {
  if (typeof input === 'string') return [input];
  return typeof input[0] === 'number' ? [input as number[]] : ([...input] as (string | TokenIds)[]);
}

function base64(row: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(4 * row.length));
  for (const [index, value] of row.entries()) bytes.setFloat32(4 * index, value, true);
  const letters = Array.from(new Uint8Array(bytes.buffer), (byte) => String.fromCharCode(byte));
  return btoa(letters.join(''));
}
