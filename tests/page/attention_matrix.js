// In the page of attention_matrix.test.mjs: runs one chunk, or one batch, and compares it with sums in f64.

import { dispatched } from './dispatch.js';

let seed = 1;
const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0);
/** Between -1 and 1. */
const number = () => random() / 2 ** 31 - 1;

const half = new DataView(new ArrayBuffer(2));
function bitsOf(x) {
  half.setFloat16(0, x);
  return half.getUint16(0);
}

function inputs({ heads, kvHeads, headDim, rows, before, capacity, ring, window, sinks }) {
  const length = before + rows;
  const cache = () => Float32Array.from({ length: length * kvHeads * headDim }, () => Math.f16round(2 * number()));
  const [k, v] = [cache(), cache()];
  // A ring only has the keys that some row sees.
  const first = ring ? Math.max(0, before + 1 - window) : 0;
  const packed = (values) => {
    const halves = new Uint16Array(kvHeads * capacity * headDim);
    for (let at = first; at < length; at++) {
      for (let h = 0; h < kvHeads; h++) {
        for (let d = 0; d < headDim; d++) {
          halves[(h * capacity + (at % capacity)) * headDim + d] = bitsOf(values[(at * kvHeads + h) * headDim + d]);
        }
      }
    }
    return halves;
  };
  const pass = new Uint32Array(36 + 4 * rows);
  pass.set([rows, 1]);
  for (let r = 0; r < rows; r++) pass[36 + 4 * r + 1] = before + r;
  const q = Float32Array.from({ length: rows * heads * headDim }, () => 3 * number());
  const ofHeads = Float32Array.from({ length: Math.max(4, heads) }, () => (sinks ? 8 * number() : 0));
  return { k, v, pass, q, ofHeads, packedK: packed(k), packedV: packed(v) };
}

/**
 * A row of one head, in f64, over the keys from `first` to before `end`.
 * @param at where the values of a key begin in k and in v
 */
function row({ q, k, v }, { headDim, scale, softCap = 0, sink = -Infinity }, [first, end], at) {
  const scores = [];
  for (let key = first; key < end; key++) {
    let score = 0;
    for (let d = 0; d < headDim; d++) score += q[d] * k[at.k(key) + d];
    score *= scale;
    scores.push(softCap > 0 ? softCap * Math.tanh(score / softCap) : score);
  }
  const high = Math.max(...scores, sink);
  const weights = scores.map((score) => Math.exp(score - high));
  const total = weights.reduce((sum, weight) => sum + weight, Math.exp(sink - high));
  const values = new Float64Array(headDim);
  for (const [i, weight] of weights.entries()) {
    for (let d = 0; d < headDim; d++) values[d] += (weight / total) * v[at.v(first + i) + d];
  }
  return values;
}

/** The largest error as a share of the largest value, and how many numbers behind the last row were written. */
async function compared(problem, given, expected) {
  const adapter = await navigator.gpu.requestAdapter();
  const { maxComputeWorkgroupStorageSize } = adapter.limits;
  const requiredLimits = { maxComputeWorkgroupStorageSize };
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures: ['subgroups'] });
  const { rows, heads, headDim, code } = problem;
  // There is a row more than the pass has, of ones.
  const before = new Float32Array((rows + 1) * heads * headDim).fill(1);
  const found = await dispatched(device, { ...given, code, before, workgroups: [heads, Math.ceil(rows / 64)] });
  let [error, largest] = [0, 0];
  for (let row = 0; row < rows; row++) {
    for (let head = 0; head < heads; head++) {
      for (const [d, value] of expected(row, head).entries()) {
        largest = Math.max(largest, Math.abs(value));
        error = Math.max(error, Math.abs(found[(row * heads + head) * headDim + d] - value));
      }
    }
  }
  const behind = found.slice(rows * heads * headDim, (rows + 1) * heads * headDim);
  device.destroy();
  return { worst: error / largest, stray: behind.filter((x) => x !== 1).length };
}

/** Runs attention of a chunk of random numbers. */
export function runChunk(problem) {
  const { heads, kvHeads, headDim, before, capacity, ring, window, softCap, sinks } = problem;
  const { k, v, pass, q, ofHeads, packedK, packedV } = inputs(problem);
  const scale = headDim ** -0.5;
  const constants = {
    ...{ HEAD_DIM: headDim, HEADS: heads, GROUP: heads / kvHeads, CAPACITY: capacity, RING: ring },
    ...{ SCALE: scale, WINDOW: window, SOFT_CAP: softCap, SINKS: sinks },
  };
  const given = { params: new Uint32Array(4), inputs: [pass, q, packedK, packedV, ofHeads], constants };
  return compared(problem, given, (r, head) => {
    const kv = Math.floor(head / (heads / kvHeads));
    const end = before + r + 1;
    const place = (key) => (key * kvHeads + kv) * headDim;
    const own = q.subarray((r * heads + head) * headDim);
    const rules = { headDim, scale, softCap, sink: sinks ? ofHeads[head] : undefined };
    return row({ q: own, k, v }, rules, [window === 0 ? 0 : Math.max(0, end - window), end], { k: place, v: place });
  });
}

/** Runs attention of a batch of random numbers, whose rows see all rows of their input. */
export function runBatch({ lengths, heads, kvHeads, headDim, code }) {
  const rows = lengths.reduce((sum, length) => sum + length, 0);
  const width = (heads + 2 * kvHeads) * headDim;
  const qkv = Float32Array.from({ length: rows * width }, () => 2 * number());
  const pass = new Uint32Array(36 + 4 * rows);
  pass.set([rows, rows]);
  const spans = [];
  for (const [sequence, length] of lengths.entries()) {
    const first = spans.flat().at(-1) ?? 0;
    spans.push([first, first + length]);
    for (let r = first; r < first + length; r++) pass[36 + 4 * r + 2] = sequence;
  }
  const inputOf = (r) => spans.find(([, end]) => r < end);
  const scale = headDim ** -0.5;
  const [kAt, vAt] = [heads * headDim, (heads + kvHeads) * headDim];
  const given = {
    params: Uint32Array.of(headDim / 8, width / 8, kAt / 8, vAt / 8, 0, 0, 0, 0),
    inputs: [pass, Uint32Array.from(spans.flat()), qkv, qkv, qkv],
    constants: { HEAD_DIM: headDim, HEADS: heads, GROUP: heads / kvHeads, SCALE: scale },
  };
  return compared({ code, heads, headDim, rows }, given, (r, head) => {
    const kv = Math.floor(head / (heads / kvHeads)) * headDim;
    const at = { k: (key) => key * width + kAt + kv, v: (key) => key * width + vAt + kv };
    return row({ q: qkv.subarray(r * width + head * headDim), k: qkv, v: qkv }, { headDim, scale }, inputOf(r), at);
  });
}
