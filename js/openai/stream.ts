/**
 * Streamed answers, as openai's package has them.
 */
import { invalidArgument } from '../errors.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { ChatChunk } from './types.js';

/**
 * The parts of an answer as they are written. Leaving the loop and `controller.abort()` end the answer; the iteration
 * then ends without throwing. Once the `signal` of the request fires, it throws the signal's reason.
 */
export class AnswerStream<T> implements AsyncIterable<T> {
  /** `abort()` ends the answer. */
  readonly controller: AbortController;
  readonly #chunks: AsyncGenerator<T>;
  #isTaken = false;

  /** @internal */
  constructor(chunks: AsyncGenerator<T>, controller: AbortController) {
    knowItself(this);
    this.#chunks = chunks;
    this.controller = controller;
  }

  /** The chunks as they are written. */
  [Symbol.asyncIterator](): AsyncIterator<T> {
    if (this.#isTaken) throw invalidArgument('the stream was read already; use tee() to read it twice');
    this.#isTaken = true;
    return this.#chunks;
  }

  /** Two streams of the same chunks; each keeps what the other has read before it. */
  tee(): [this, this] {
    const queues: Promise<IteratorResult<T>>[][] = [[], []];
    const source = this[Symbol.asyncIterator]();
    async function* branch(own: Promise<IteratorResult<T>>[]): AsyncGenerator<T> {
      for (;;) {
        if (own.length === 0) {
          const next = source.next();
          for (const queue of queues) queue.push(next);
        }
        const { done, value } = await (own.shift() as Promise<IteratorResult<T>>);
        if (done) return;
        yield value;
      }
    }
    const Same = this.constructor as new (chunks: AsyncGenerator<T>, controller: AbortController) => this;
    const [left, right] = queues.map((queue) => new Same(branch(queue), this.controller));
    return [left as this, right as this];
  }

  /** Bytes: a chunk as JSON on each line, as openai's `Stream.fromReadableStream` reads them. */
  toReadableStream(): ReadableStream<Uint8Array> {
    return bytesOf(this, (chunk) => `${JSON.stringify(chunk)}\n`);
  }
}
throughProxies(AnswerStream);

/**
 * The chunks of a chat completion.
 *
 * @example
 * const stream = await model.chat.completions.create({ messages, stream: true });
 * for await (const chunk of stream) out.textContent += chunk.choices[0]?.delta.content ?? '';
 */
export class ChatStream extends AnswerStream<ChatChunk> {}

/** Chunks as bytes; `end` follows the last. @internal */
export function bytesOf<T>(
  chunks: AsyncIterable<T>,
  write: (chunk: T) => string,
  { end = '', failed }: { end?: string; failed?: (error: unknown) => string } = {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        const text = done ? end : write(value);
        if (text) controller.enqueue(encoder.encode(text));
        if (done) controller.close();
      } catch (error) {
        if (!failed) throw error;
        const text = failed(error);
        if (text) controller.enqueue(encoder.encode(text));
        controller.close();
      }
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
