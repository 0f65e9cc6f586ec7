/**
 * A streamed answer, as openai's package has it.
 */
import { invalidArgument } from '../errors.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { ChatChunk } from './types.js';

/**
 * The parts of an answer as they are written. Leaving the loop and `controller.abort()` end the answer; the iteration
 * then ends without throwing. Once the `signal` of the request fires, it throws the signal's reason.
 *
 * @example
 * const stream = await model.chat.completions.create({ messages, stream: true });
 * for await (const chunk of stream) out.textContent += chunk.choices[0]?.delta.content ?? '';
 */
export class ChatStream implements AsyncIterable<ChatChunk> {
  /** `abort()` ends the answer. */
  readonly controller: AbortController;
  readonly #chunks: AsyncGenerator<ChatChunk>;
  #isTaken = false;

  /** @internal */
  constructor(chunks: AsyncGenerator<ChatChunk>, controller: AbortController) {
    knowItself(this);
    this.#chunks = chunks;
    this.controller = controller;
  }

  /** The chunks as they are written. */
  [Symbol.asyncIterator](): AsyncIterator<ChatChunk> {
    if (this.#isTaken) throw invalidArgument('the stream was read already; use tee() to read it twice');
    this.#isTaken = true;
    return this.#chunks;
  }

  /** Two streams of the same chunks; each keeps what the other has read before it. */
  tee(): [ChatStream, ChatStream] {
    const queues: Promise<IteratorResult<ChatChunk>>[][] = [[], []];
    const source = this[Symbol.asyncIterator]();
    async function* branch(own: Promise<IteratorResult<ChatChunk>>[]): AsyncGenerator<ChatChunk> {
      for (;;) {
        if (own.length === 0) {
          const next = source.next();
          for (const queue of queues) queue.push(next);
        }
        const { done, value } = await (own.shift() as Promise<IteratorResult<ChatChunk>>);
        if (done) return;
        yield value;
      }
    }
    const [left, right] = queues.map((queue) => new ChatStream(branch(queue), this.controller));
    return [left as ChatStream, right as ChatStream];
  }

  /** Bytes: a chunk as JSON on each line, as openai's `Stream.fromReadableStream` reads them. */
  toReadableStream(): ReadableStream<Uint8Array> {
    return bytesOf(this, (chunk) => `${JSON.stringify(chunk)}\n`);
  }
}
throughProxies(ChatStream);

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
        controller.enqueue(encoder.encode(failed(error)));
        controller.close();
      }
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
