// Matrices in GGUF blocks made of random bytes, with the numbers that they stand for by the definition of their type.

/** The 16 numbers of IQ4_NL. */
const CODEBOOK = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/** Low nibbles are the weights 0 to 15, high ones 16 to 31. */
const nibbles = (bytes, at, of) =>
  Array.from({ length: 32 }, (_, i) => of((bytes[at + (i % 16)] >> (i < 16 ? 0 : 4)) & 15));

/** Weights of 256 in six bits: 128 bytes of nibbles, 64 of bit pairs, 16 signed scales. */
function q6k(bytes, at) {
  return Array.from({ length: 256 }, (_, i) => {
    const [half, quarter, l] = [i >> 7, (i >> 5) & 3, i & 31];
    const low = (bytes[at + 64 * half + 32 * (quarter & 1) + l] >> (quarter < 2 ? 0 : 4)) & 15;
    const high = (bytes[at + 128 + 32 * half + l] >> (2 * quarter)) & 3;
    return ((bytes[at + 192 + (i >> 4)] << 24) >> 24) * ((low | (high << 4)) - 32);
  });
}

/** Weights and bytes of a block, where its f16 scale is, the scale's exponent, and the weights without that scale. */
const TYPES = {
  q4_0: { weights: 32, bytes: 18, scaleAt: 0, exponent: -4, of: (bytes, at) => nibbles(bytes, at + 2, (q) => q - 8) },
  iq4_nl: {
    weights: 32,
    bytes: 18,
    scaleAt: 0,
    exponent: -8,
    of: (bytes, at) => nibbles(bytes, at + 2, (q) => CODEBOOK[q]),
  },
  q6_k: { weights: 256, bytes: 210, scaleAt: 208, exponent: -13, of: q6k },
};

/** A matrix `[rows, cols]` of this type: `{ type, shape, bytes, values }`. The seed is any number. */
export function blocksOf(type, [rows, cols], seed = 1) {
  const { weights, bytes: size, scaleAt, exponent, of } = TYPES[type];
  let state = seed >>> 0;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // Numerical Recipes
    return state >>> 16;
  };
  const count = (rows * cols) / weights;
  const bytes = Uint8Array.from({ length: count * size }, random);
  const values = [];
  for (let at = 0; at < bytes.length; at += size) {
    const fraction = random() & 1023;
    new DataView(bytes.buffer).setUint16(at + scaleAt, ((exponent + 15) << 10) | fraction, true);
    values.push(...of(bytes, at).map((value) => value * 2 ** exponent * (1 + fraction / 1024)));
  }
  return { type, shape: [rows, cols], bytes, values: Float64Array.from(values) };
}
