// In the page of subgroup_matrix.test.mjs: runs one product and compares it with sums in f64.

import { dispatched } from './dispatch.js';

let seed = 1;
const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0);
/** Bits of an f16 between 1/8 and 1/2 in magnitude. */
const half = () => ((random() >>> 31) << 15) | ((12 + (random() >>> 31)) << 10) | (random() >>> 22);

function numberOf(bits) {
  const size = (1 + (bits & 1023) / 1024) * 2 ** (((bits >> 10) & 31) - 15);
  return bits & 0x8000 ? -size : size;
}

/** Words of a matrix as `repack` lays it out, the word of its scales, and its weights as f16 numbers. */
const makers = {
  f16(rows, cols) {
    const halves = Uint16Array.from({ length: rows * cols }, half);
    return { words: new Uint32Array(halves.buffer), weight: (r, c) => numberOf(halves[r * cols + c]) };
  },
  q4_0: (rows, cols) => quantised(rows, cols, 16, (block, i) => ((block[i % 16] >> (i < 16 ? 0 : 4)) & 15) - 8),
  q8_0: (rows, cols) => quantised(rows, cols, 32, (block, i) => (block[i] << 24) >> 24),
};

function quantised(rows, cols, bytes, quant) {
  const blocks = (rows * cols) / 32;
  const quants = new Uint8Array(blocks * bytes).map(() => random() >>> 24);
  const scales = Uint16Array.from({ length: blocks + (blocks % 2) }, half);
  const scalesAt = quants.length / 4;
  const words = new Uint32Array([...new Uint32Array(quants.buffer), ...new Uint32Array(scales.buffer)]);
  const weight = (r, c) => {
    const b = (r * cols + c) >> 5;
    const q = quant(quants.subarray(b * bytes, (b + 1) * bytes), c % 32);
    return Math.f16round(numberOf(scales[b]) * q);
  };
  return { words, scalesAt, weight };
}

const FIRST_ROW = 5;
const Y_OFFSET = 2;

function inputs({ type, rows, cols, tokens }) {
  const stride = rows + 9;
  return {
    ...makers[type](rows, cols),
    stride,
    pass: Uint32Array.of(tokens, 1, ...new Uint32Array(34 + 4 * tokens)),
    x: Uint16Array.from({ length: tokens * cols }, half),
    scales: Float32Array.from({ length: tokens }, (_, t) => 1 + (t % 3)),
    bias: Float32Array.from({ length: rows + FIRST_ROW }, (_, i) => i / 10),
    before: Float32Array.from({ length: tokens * stride }, (_, i) => i % 7),
  };
}

/** What the product leaves in y, given the inputs. */
function output(device, given, { code, rows, cols, tokens, added, tile }) {
  const { words, scalesAt, stride, pass, x, scales, bias, before } = given;
  const sizes = { COLS: cols, ROWS: rows, Y_STRIDE: stride, SUBGROUP_SIZE: 32, BIAS: added, RESIDUAL: added };
  return dispatched(device, {
    code,
    constants: scalesAt === undefined ? sizes : { ...sizes, SCALES_AT: scalesAt },
    params: Uint32Array.of(FIRST_ROW, Y_OFFSET, 0xffffffff, 0),
    inputs: [pass, x, scales, words, words, bias],
    before,
    workgroups: [Math.ceil(tokens / tile.tokens), Math.ceil(rows / tile.rows)],
  });
}

/**
 * Runs a product of random numbers.
 * @returns {Promise<{worst: number, stray: number}>} the largest error as a share of the largest sum, and how many
 *   elements beside the product were written
 */
export async function run(product) {
  const adapter = await navigator.gpu.requestAdapter();
  const { maxComputeWorkgroupStorageSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxComputeWorkgroupStorageSize } });
  const given = inputs(product);
  const found = await output(device, given, product);
  const { rows, cols, tokens, added } = product;
  let [error, largest, stray] = [0, 0, 0];
  for (let at = 0; at < tokens * given.stride; at++) {
    const t = Math.floor(at / given.stride);
    const r = (at % given.stride) - FIRST_ROW - Y_OFFSET;
    if (r < 0 || r >= rows) {
      stray += Number(found[at] !== given.before[at]);
      continue;
    }
    let sum = 0;
    for (let c = 0; c < cols; c++) sum += numberOf(given.x[t * cols + c]) * given.weight(r, c);
    sum *= given.scales[t];
    if (added) sum += given.bias[FIRST_ROW + r] + given.before[at];
    largest = Math.max(largest, Math.abs(sum));
    error = Math.max(error, Math.abs(found[at] - sum));
  }
  device.destroy();
  return { worst: error / largest, stray };
}
