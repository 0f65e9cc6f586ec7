// What tests of sounds share: the encoders, and the sounds that tools/oracle/make_encoders.py makes, too.

/** Encoders with what llama.cpp says of their rows. */
export const LISTENERS = ['ultravox', 'qwen2a', 'qwen3a', 'gemma4a', 'gemma4ua', 'voxtral'].concat(
  // Only the newest llama.cpp knows them.
  [
    'lfm2a',
    'lfm3a',
    'meralion',
    'musicflamingo',
    'glma',
    'granite_speech',
    'granite_speech-taken',
    'parakeet',
    'parakeet-odd',
  ],
);

/** `{ samples, sampleRate }`: waves with noise, 16 bits. */
export function soundOf(count) {
  const samples = Float32Array.from({ length: count }, (_, at) => {
    const noise = Number(((BigInt(at) * 2654435761n + 12345n) % 4294967296n) >> 16n) - 32768;
    return (Math.floor(noise / 8) + ((at % 50) - 25) * 500 + (((at * 3) % 331) - 165) * 20) / 32768;
  });
  return { samples, sampleRate: 16000 };
}

/** The largest difference of the rows that are expected, divided by their largest value. */
export function differenceOfSome(found, { at, rows }) {
  const most = Math.max(...rows.flat().map(Math.abs));
  const apart = rows.flatMap((row, i) => row.map((value, j) => Math.abs(value - found[at[i]][j])));
  // What is missing is no number.
  return apart.reduce((worst, value) => (value <= worst ? worst : value), 0) / most;
}
