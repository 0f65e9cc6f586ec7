/**
 * Parts of an answer as the stream that the AI SDK reads.
 */

/** A failure is made parts of the stream by `failed`; the caller's own abort is none. @internal */
export function partStream<T>(
  start: T,
  parts: AsyncGenerator<T>,
  failed: (error: unknown) => readonly T[],
  signal: AbortSignal | undefined,
): ReadableStream<T> {
  return new ReadableStream<T>({
    start: (controller) => controller.enqueue(start),
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        if (signal?.aborted) throw error;
        for (const part of failed(error)) controller.enqueue(part);
        controller.close();
      }
    },
    async cancel() {
      await parts.return(undefined);
    },
  });
}
