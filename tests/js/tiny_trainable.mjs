// A language model of one layer without attention, which adapters can change: what trainers are tested with.

const WIDTH = 16;
const VOCABULARY = 64;

/** Weights that adapters can change: name, kind, values of y, values of x. */
const TARGETS = [
  ['blk.0.attn_q.weight', 'attn_q', WIDTH, WIDTH],
  ['blk.0.ffn_up.weight', 'ffn_up', 2 * WIDTH, WIDTH],
  ['blk.0.ffn_down.weight', 'ffn_down', WIDTH, 2 * WIDTH],
];

/** Numbers that look random. */
const numbers = (count, seed) =>
  Float32Array.from({ length: count }, (_, i) => Math.sin((i + 1) * (12.9898 + seed)) / 3);

/** A `TrainableModel` on `gpu`. */
export function tinyTrainable(gpu) {
  const shapes = { embedding: [VOCABULARY, WIDTH] };
  for (const [name, , rows, cols] of TARGETS) shapes[name] = [rows, cols];
  const weights = Object.fromEntries(
    Object.entries(shapes).map(([name, shape], i) => [name, gpu.tensor(numbers(shape[0] * shape[1], i), shape)]),
  );
  const loss = ({ ids, targets }, adapters, scale) => {
    const product = (x, name) => {
      const y = gpu.matmul(x, weights[name], { transposeB: true });
      const pair = adapters[name];
      if (!pair) return y;
      const change = gpu.matmul(gpu.matmul(x, pair.a, { transposeB: true }), pair.b, { transposeB: true });
      return gpu.add(y, gpu.scale(change, scale));
    };
    const x = gpu.embedding(weights.embedding, gpu.reshape(ids, [ids.size]));
    const after = gpu.add(x, product(x, 'blk.0.attn_q.weight'));
    const inner = gpu.silu(product(after, 'blk.0.ffn_up.weight'));
    const states = gpu.add(after, product(inner, 'blk.0.ffn_down.weight'));
    return gpu.crossEntropy(states, gpu.reshape(targets, [ids.size]), { weights: weights.embedding });
  };
  return {
    gpu,
    architecture: 'llama',
    targets: TARGETS.map(([name, kind, rows, cols]) => ({ name, kind, rows, cols })),
    loss,
    packs: () => true,
    free: () => gpu.free(weights),
  };
}

/** What a trainer needs of a loaded model; a token is a letter. */
export const tinyModel = (more = {}) => ({
  info: { contextLength: 128, architecture: 'llama' },
  tokenize: async (text) => Uint32Array.from(text, (letter) => letter.codePointAt(0) % VOCABULARY),
  ...more,
});

/** What such a model is, for trainings that are kept. */
export const BASE = {
  ...{ architecture: 'llama', name: 'tiny', quantization: 'F32', parameters: 1, vocabularySize: VOCABULARY },
  digest: '0123',
};

export const SENTENCES = [
  'the cat sat on the mat',
  'the dog sat on the log',
  'a bird sang in the tree',
  'the sun is warm today',
  'rain falls on the roof',
  'the moon is full tonight',
  'a fish swims in the sea',
];
