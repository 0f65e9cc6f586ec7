// A scripted model that hears, writes and speaks.

/** Pieces of an answer. */
export const text = (words) => ({ type: 'text', text: words });
export const sound = (count) => ({ type: 'sound', samples: new Float32Array(count), sampleRate: 24_000 });

/** A model that gives these answers, one after the other; `asked` has what it was asked, `told` the options. */
export function scriptedModel(...answers) {
  const [asked, told] = [[], []];
  return {
    ...{ asked, told },
    async *converse(messages, { signal, ...options }) {
      asked.push(messages);
      told.push(options);
      for (const piece of answers[asked.length - 1]) {
        signal.throwIfAborted();
        yield typeof piece === 'function' ? await piece(signal) : piece;
      }
    },
  };
}
