// One call of every operation of `Gpu`, with every option, as `[method, call]`. The mock shows which names the engine
// is asked for; the real engine shows whether it takes them. `call` may give one tensor or several.

const numbers = (length) => Float32Array.from({ length }, (_, i) => (1 + ((i * 7) % 11)) / 11);
const f32 = (gpu, ...shape) => gpu.tensor(numbers(size(shape)), shape);
const u32 = (gpu, values, shape = [values.length]) => gpu.tensor(Uint32Array.from(values), shape);
const size = (shape) => shape.reduce((product, length) => product * length, 1);

const UNARY = [
  'neg',
  'abs',
  'exp',
  'log',
  'sqrt',
  'rsqrt',
  'sin',
  'cos',
  'tanh',
  'sigmoid',
  'relu',
  'silu',
  'gelu',
  'geluErf',
];
const BINARY = ['add', 'sub', 'mul', 'div', 'minimum', 'maximum', 'pow'];
const COMPARISONS = ['equal', 'notEqual', 'less', 'lessEqual', 'greater', 'greaterEqual'];

const YARN = { factor: 4, originalContext: 128, betaFast: 32, betaSlow: 1, attentionFactor: 1 };
const NORM = (gpu) => ({ bias: f32(gpu, 5), residual: f32(gpu, 3, 5), eps: 1e-6, weightOffset: 1 });

export const SAMPLES = [
  ...UNARY.map((op) => [op, (gpu) => gpu[op](f32(gpu, 3, 5))]),
  ...BINARY.map((op) => [op, (gpu) => gpu[op](f32(gpu, 3, 5), f32(gpu, 5))]),
  ...COMPARISONS.map((op) => [op, (gpu) => gpu[op](f32(gpu, 3, 5), 0.5)]),
  ['silu', (gpu) => gpu.silu(f32(gpu, 3, 5), { inPlace: true })],
  ['add', (gpu) => gpu.add(f32(gpu, 3, 5), f32(gpu, 3, 1), { inPlace: true })],
  ['sub', (gpu) => gpu.sub(1, f32(gpu, 3, 5))],
  ['scale', (gpu) => gpu.scale(f32(gpu, 3, 5), 0.5, { inPlace: true })],
  ['where', (gpu) => gpu.where(f32(gpu, 3, 1), f32(gpu, 5), f32(gpu, 3, 5))],
  ['cast', (gpu) => gpu.cast(f32(gpu, 3, 5), 'f16')],
  ['copy', (gpu) => gpu.copy(u32(gpu, [1, 2, 3]))],
  [
    'fuse',
    (gpu) => {
      const inputs = [f32(gpu, 3, 5), f32(gpu, 5)];
      return gpu.fuse(inputs, (x, y) => x.silu().mul(y).add(0.5), { dtype: 'f16' });
    },
  ],
  [
    'matmul',
    (gpu) =>
      gpu.matmul(f32(gpu, 5, 3), f32(gpu, 7, 5), {
        transposeA: true,
        transposeB: true,
        bias: f32(gpu, 7),
        residual: f32(gpu, 3, 7),
        activation: 'silu',
        precision: 'fast',
      }),
  ],
  [
    'matmulGrouped',
    (gpu) => {
      const ids = u32(gpu, [0, 3, 2, 1, 1, 1], [3, 2]);
      return gpu.matmulGrouped(f32(gpu, 3, 5), f32(gpu, 4, 7, 5), ids, f32(gpu, 3, 2));
    },
  ],
  ['tensor', (gpu) => gpu.tensor(new Uint8Array(2 * 34), [2, 32], 'q8_0')],
  [
    'gateUp',
    (gpu) => {
      const options = { activation: 'geglu', norm: f32(gpu, 5), eps: 1e-6 };
      return gpu.gateUp(f32(gpu, 3, 5), f32(gpu, 14, 5), options);
    },
  ],
  [
    'project',
    (gpu) => gpu.project(f32(gpu, 3, 5), f32(gpu, 7, 5), { norm: f32(gpu, 5), eps: 1e-6, bias: f32(gpu, 7) }),
  ],
  ['reshape', (gpu) => gpu.reshape(f32(gpu, 3, 4), [2, -1, 3])],
  ['transpose', (gpu) => gpu.transpose(f32(gpu, 2, 3, 4), [2, 0, -2])],
  ['transpose', (gpu) => gpu.transpose(f32(gpu, 2, 3))],
  ['narrow', (gpu) => gpu.narrow(f32(gpu, 2, 3), -1, 1, 2)],
  ['concat', (gpu) => gpu.concat([f32(gpu, 2, 3), f32(gpu, 2, 1), f32(gpu, 2, 4)], { axis: 1 })],
  ['expand', (gpu) => gpu.expand(f32(gpu, 3, 1), [2, 3, 4])],
  ['gather', (gpu) => gpu.gather(f32(gpu, 2, 3, 4), u32(gpu, [2, 0, 1, 1], [2, 2]), { axis: 1 })],
  ['scatterAdd', (gpu) => gpu.scatterAdd(f32(gpu, 2, 3), u32(gpu, [2, 2]), f32(gpu, 2, 2), { axis: -1 })],
  ['embedding', (gpu) => gpu.embedding(gpu.tensor(new Uint8Array(3 * 34), [3, 32], 'q8_0'), u32(gpu, [2, 0, 2]))],
  ['gated', (gpu) => gpu.gated(f32(gpu, 3, 10), { activation: 'swiglu' })],
  ...['sum', 'mean', 'prod', 'max', 'min', 'argmax'].flatMap((op) => [
    [op, (gpu) => gpu[op](f32(gpu, 3, 5))],
    [op, (gpu) => gpu[op](f32(gpu, 3, 5), { axis: -2, keepDims: true })],
  ]),
  ['topK', (gpu) => Object.values(gpu.topK(f32(gpu, 3, 5), 2))],
  ['cumsum', (gpu) => gpu.cumsum(f32(gpu, 3, 5), { axis: 0, exclusive: true })],
  ['softmax', (gpu) => gpu.softmax(f32(gpu, 3, 5), { mask: f32(gpu, 1, 5), causal: true, scale: 2, softCap: 10 })],
  ['rmsNorm', (gpu) => gpu.rmsNorm(f32(gpu, 3, 5), f32(gpu, 5), { ...NORM(gpu), sum: true })],
  ['layerNorm', (gpu) => gpu.layerNorm(f32(gpu, 3, 5), f32(gpu, 5), NORM(gpu))],
  [
    'attention',
    (gpu) =>
      gpu.attention(f32(gpu, 1, 3, 4, 8), f32(gpu, 1, 5, 2, 8), f32(gpu, 1, 5, 2, 8), {
        mask: f32(gpu, 1, 1, 1, 5),
        layout: 'bshd',
        causal: true,
        window: 3,
        scale: 0.3,
        softCap: 20,
      }),
  ],
  ['kvWrite', (gpu) => gpu.kvWrite(gpu.zeros([2, 7, 8], 'f16'), f32(gpu, 3, 2, 8), { layout: 'bshd', position: 5 })],
  [
    'attentionDecode',
    (gpu) => {
      const cache = gpu.kvWrite(gpu.zeros([2, 7, 8], 'f16'), f32(gpu, 2, 3, 8));
      return gpu.attentionDecode(f32(gpu, 4, 8), cache, cache, { length: 3, window: 2, scale: 0.3, softCap: 20 });
    },
  ],
  [
    'selectiveScan',
    (gpu) =>
      Object.values(
        gpu.selectiveScan({
          x: f32(gpu, 1, 5, 4),
          delta: f32(gpu, 1, 5, 4),
          a: gpu.neg(f32(gpu, 4, 3)),
          b: f32(gpu, 1, 5, 3),
          c: f32(gpu, 1, 5, 3),
          d: f32(gpu, 4),
          state: f32(gpu, 1, 4, 3),
        }),
      ),
  ],
  ['sinkhorn', (gpu) => gpu.sinkhorn(f32(gpu, 3, 3), { iterations: 10, tolerance: 1e-3 })],
  [
    'ropeTable',
    (gpu) =>
      gpu.ropeTable({
        positions: 5,
        dims: 8,
        position: 3,
        base: 5000,
        scale: 0.5,
        factors: [1, 1, 2, 2],
      }),
  ],
  ['ropeTable', (gpu) => gpu.ropeTable({ positions: 5, dims: 8, yarn: YARN })],
  ['rope', (gpu) => gpu.rope(f32(gpu, 1, 2, 3, 8), { table: gpu.ropeTable({ positions: 5, dims: 8 }), position: 2 })],
  [
    'rope',
    (gpu) =>
      gpu.rope(f32(gpu, 1, 3, 2, 8), {
        layout: 'bshd',
        pairing: 'interleaved',
        dims: 4,
        position: 7,
        base: 1e6,
        scale: 0.25,
        factors: [1, 2],
        yarn: YARN,
      }),
  ],
];
