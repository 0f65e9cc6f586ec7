// What the operations must give, in plain JavaScript and double precision: written from the formulas, sharing nothing
// with the shaders or with the crate's references. Arrays are row-major; every function returns a Float64Array.

const from = (values, f) => Float64Array.from(values, f);

// ---- element by element ---------------------------------------------------------------------------------------------

/** erf to double precision: its series near 0, the continued fraction of erfc farther out. */
export function erf(x) {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size < 2.5) {
    let [term, sum] = [x, x];
    for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum) && n < 200; n += 1) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let tail = size;
  for (let n = 120; n >= 1; n -= 1) tail = size + n / 2 / tail;
  return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / tail);
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** One number to one number, by the operation's name. */
export const UNARY = {
  neg: (x) => -x,
  abs: Math.abs,
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
  sigmoid,
  relu: (x) => Math.max(x, 0),
  silu: (x) => x * sigmoid(x),
  gelu: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  geluErf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
};

/** Two numbers to one number, by the operation's name; comparisons give 1 or 0. */
export const BINARY = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: Math.min,
  max: Math.max,
  pow: (a, b) => a ** b,
  equal: (a, b) => Number(a === b),
  notEqual: (a, b) => Number(a !== b),
  less: (a, b) => Number(a < b),
  lessEqual: (a, b) => Number(a <= b),
  greater: (a, b) => Number(a > b),
  greaterEqual: (a, b) => Number(a >= b),
};

const strides = (shape) => shape.map((_, axis) => shape.slice(axis + 1).reduce((product, n) => product * n, 1));

/** Where element `at` of a tensor of `shape` lies in one of shape `small` that is broadcast to it. */
function broadcastIndex(at, shape, small) {
  const [steps, own] = [strides(shape), strides(small)];
  const skipped = shape.length - small.length;
  return small.reduce((index, n, axis) => {
    const place = Math.floor(at / steps[axis + skipped]) % shape[axis + skipped];
    return index + (n === 1 ? 0 : place * own[axis]);
  }, 0);
}

/** `f` of tensors broadcast to `shape`; an input is `{values, shape}`. */
export function map(f, shape, ...inputs) {
  const length = shape.reduce((product, n) => product * n, 1);
  return from({ length }, (_, at) => f(...inputs.map((x) => x.values[broadcastIndex(at, shape, x.shape)])));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

/** `f(row, index)` of each row of `width` values, joined. */
function byRow(values, width, f) {
  const out = new Float64Array(values.length);
  for (let at = 0, row = 0; at < values.length; at += width, row += 1) {
    out.set(f(values.slice(at, at + width), row), at);
  }
  return out;
}

/** exp(x − max) / Σ exp(x − max) of each row; a row of −∞ alone gives zeros. */
export function softmax(values, width, { scale = 1, softCap = 0, allowed = () => true } = {}) {
  return byRow(values, width, (row, index) => {
    const capped = from(row, (x) => (softCap ? softCap * Math.tanh((x * scale) / softCap) : x * scale));
    const scores = capped.map((x, column) => (allowed(index, column) ? x : -Infinity));
    const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    if (most === -Infinity) return scores.fill(0);
    const powers = scores.map((x) => Math.exp(x - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((x) => x / sum);
  });
}

/** x / √(mean x² + eps) · (offset + weight) of each row. */
export function rmsNorm(values, weight, { eps, offset = 0 }) {
  const width = weight.length;
  return byRow(values, width, (row) => {
    const mean = from(row).reduce((sum, x) => sum + x * x, 0) / width;
    return from(row, (x, column) => (x / Math.sqrt(mean + eps)) * (offset + weight[column]));
  });
}

// ---- matrices -------------------------------------------------------------------------------------------------------

/** A·B of [batch, m, k] by [batch, k, n], or A·Bᵀ with B of [batch, n, k]. */
export function matmul(a, b, { batch = 1, m, k, n, transposeB = false }) {
  const out = new Float64Array(batch * m * n);
  for (let at = 0; at < out.length; at += 1) {
    const [column, row, item] = [at % n, Math.floor(at / n) % m, Math.floor(at / (m * n))];
    const [first, second] = [(item * m + row) * k, item * k * n];
    let sum = 0;
    for (let i = 0; i < k; i += 1) sum += a[first + i] * b[second + (transposeB ? column * k + i : i * n + column)];
    out[at] = sum;
  }
  return out;
}

/**
 * softmax(q·kᵀ · scale)·v, where query head h uses key head ⌊h · kvHeads / heads⌋; q is [batch, heads, queries, dim],
 * k and v are [batch, kvHeads, keys, dim]. Causal: the last query sees the last key.
 */
export function attention(q, k, v, { batch, heads, kvHeads, queries, keys, dim, causal, window = 0, softCap = 0 }) {
  const out = new Float64Array(q.length);
  const allowed = (query, key) => {
    const at = query + keys - queries;
    return (!causal || key <= at) && (!window || key > at - window);
  };
  for (let head = 0; head < batch * heads; head += 1) {
    const kvHead = Math.floor(head / heads) * kvHeads + Math.floor(((head % heads) * kvHeads) / heads);
    const own = q.slice(head * queries * dim, (head + 1) * queries * dim);
    const [itsKeys, itsValues] = [k, v].map((x) => x.slice(kvHead * keys * dim, (kvHead + 1) * keys * dim));
    const scores = matmul(own, itsKeys, { m: queries, k: dim, n: keys, transposeB: true });
    const shares = softmax(scores, keys, { scale: 1 / Math.sqrt(dim), softCap, allowed });
    out.set(matmul(shares, itsValues, { m: queries, k: keys, n: dim }), head * queries * dim);
  }
  return out;
}

/**
 * Rotates pairs of each head of [batch, positions, heads, dim] by position · base^(−2i / rotated): values 2i and
 * 2i + 1 where `interleaved`, else i and i + rotated / 2. Values from `rotated` on stay.
 */
export function rope(x, { positions, heads, dim, rotated = dim, base = 10_000, offset = 0, interleaved = false }) {
  const out = from(x);
  for (let start = 0, head = 0; start < x.length; start += dim, head += 1) {
    const position = offset + (Math.floor(head / heads) % positions);
    for (let pair = 0; pair < rotated / 2; pair += 1) {
      const angle = position * base ** ((-2 * pair) / rotated);
      const [i, j] = interleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + rotated / 2];
      const [first, second] = [x[start + i], x[start + j]];
      out[start + i] = first * Math.cos(angle) - second * Math.sin(angle);
      out[start + j] = first * Math.sin(angle) + second * Math.cos(angle);
    }
  }
  return out;
}

/** Rows, then columns of each n×n matrix divided by their sums, `iterations` times; what sums to 0 stays. */
export function sinkhorn(values, n, iterations) {
  return byRow(values, n * n, (start) => {
    const matrix = from(start);
    const normalise = (line) => {
      const sum = line.reduce((total, at) => total + matrix[at], 0);
      if (sum !== 0)
        line.forEach((at) => {
          matrix[at] /= sum;
        });
    };
    const count = Array.from({ length: n }, (_, i) => i);
    for (let round = 0; round < iterations; round += 1) {
      count.forEach((i) => normalise(count.map((j) => i * n + j)));
      count.forEach((j) => normalise(count.map((i) => i * n + j)));
    }
    return matrix;
  });
}

// ---- comparing ------------------------------------------------------------------------------------------------------

/**
 * How far `found` is from `expected`: the largest errors, and the first element where the error passes
 * `limit.abs + limit.rel · |expected|`. Equal infinities are no error; a NaN is.
 */
export function compare(found, expected, limit) {
  const seen = { maxAbsError: 0, maxRelError: 0, ofLimit: 0, first: undefined };
  if (found.length !== expected.length) {
    const [wanted, given] = [expected, found].map(({ length }) => `${length} elements`);
    return { ...seen, first: { index: Math.min(found.length, expected.length), expected: wanted, found: given } };
  }
  expected.forEach((wanted, index) => {
    const value = found[index];
    const error = Object.is(value, wanted) || value === wanted ? 0 : Math.abs(value - wanted);
    const allowed = limit.abs + limit.rel * Math.abs(wanted);
    if (!(error <= allowed) && !seen.first) seen.first = { index, expected: wanted, found: value };
    if (error > 0) seen.ofLimit = Math.max(seen.ofLimit, error / allowed);
    seen.maxAbsError = Math.max(seen.maxAbsError, error);
    if (wanted !== 0) seen.maxRelError = Math.max(seen.maxRelError, error / Math.abs(wanted));
  });
  return seen;
}
