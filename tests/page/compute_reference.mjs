// The operations of `webgguf/compute` by their definitions, in double precision: arrays with shapes in, arrays out.

export const size = (shape) => shape.reduce((product, length) => product * length, 1);

/** Every place of a shape, in order. */
export function* places(shape) {
  for (let i = 0; i < size(shape); i += 1) {
    let rest = i;
    yield shape
      .toReversed()
      .map((length) => {
        const at = rest % length;
        rest = (rest - at) / length;
        return at;
      })
      .toReversed();
  }
}

const index = (shape, place) => place.reduce((sum, at, axis) => sum * shape[axis] + at, 0);
const isIn = (shape, place) => place.every((at, axis) => at >= 0 && at < shape[axis]);
const all = (value, axes) => (Array.isArray(value) ? value : Array(axes).fill(value));

/** Elements at the places of a shape. */
const from = (shape, element) => Array.from(places(shape), element);

const ACTIVATIONS = {
  none: (x) => x,
  relu: (x) => Math.max(x, 0),
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
};

/** Convolution: x [N, C, ..], w [O, C / groups, ..]. */
export function conv(x, w, options = {}) {
  const axes = x.shape.length - 2;
  const { groups = 1, bias, activation = 'none' } = options;
  const [stride, padding, dilation] = [options.stride ?? 1, options.padding ?? 0, options.dilation ?? 1].map((v) =>
    all(v, axes),
  );
  const [outputs, channels, ...kernel] = w.shape;
  const out = kernel.map((length, i) => {
    const places = x.shape[2 + i] + 2 * padding[i] - dilation[i] * (length - 1) - 1;
    return Math.floor(places / stride[i]) + 1;
  });
  const shape = [x.shape[0], outputs, ...out];
  const values = from(shape, ([n, o, ...place]) => {
    const first = Math.floor(o / (outputs / groups)) * channels;
    let sum = bias?.[o] ?? 0;
    for (const [c, ...tap] of places([channels, ...kernel])) {
      const at = [n, first + c, ...place.map((p, i) => p * stride[i] - padding[i] + tap[i] * dilation[i])];
      if (isIn(x.shape, at)) sum += x.values[index(x.shape, at)] * w.values[index(w.shape, [o, c, ...tap])];
    }
    return ACTIVATIONS[activation](sum);
  });
  return { shape, values };
}

/** Transposed convolution: x [N, C, ..], w [C, O / groups, ..]. */
export function convTranspose(x, w, options = {}) {
  const axes = x.shape.length - 2;
  const { groups = 1, bias, activation = 'none' } = options;
  const [stride, padding, dilation, extra] = ['stride', 'padding', 'dilation', 'outputPadding'].map((name) =>
    all(options[name] ?? (name === 'stride' || name === 'dilation' ? 1 : 0), axes),
  );
  const [channels, rows, ...kernel] = w.shape;
  const out = kernel.map(
    (length, i) => (x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (length - 1) + extra[i] + 1,
  );
  const shape = [x.shape[0], rows * groups, ...out];
  const values = from(shape, ([, o]) => bias?.[o] ?? 0);
  for (const [n, c, ...place] of places(x.shape)) {
    const group = Math.floor(c / (channels / groups));
    for (const [o, ...tap] of places([rows, ...kernel])) {
      const at = [n, group * rows + o, ...place.map((p, i) => p * stride[i] - padding[i] + tap[i] * dilation[i])];
      if (!isIn(shape, at)) continue;
      values[index(shape, at)] += x.values[index(x.shape, [n, c, ...place])] * w.values[index(w.shape, [c, o, ...tap])];
    }
  }
  return { shape, values: values.map(ACTIVATIONS[activation]) };
}

/** `maxPool` and `avgPool`. */
export function pool(kind, x, options) {
  const axes = x.shape.length - 2;
  const { countIncludePad = true } = options;
  const kernel = all(options.kernel, axes);
  const stride = all(options.stride ?? options.kernel, axes);
  const padding = all(options.padding ?? 0, axes);
  const out = kernel.map((length, i) => Math.floor((x.shape[2 + i] + 2 * padding[i] - length) / stride[i]) + 1);
  const shape = [...x.shape.slice(0, 2), ...out];
  const values = from(shape, ([n, c, ...place]) => {
    const window = [...places(kernel)].map((tap) => [
      n,
      c,
      ...place.map((p, i) => p * stride[i] - padding[i] + tap[i]),
    ]);
    const found = window.filter((at) => isIn(x.shape, at)).map((at) => x.values[index(x.shape, at)]);
    if (kind === 'max') return Math.max(...found);
    return found.reduce((a, b) => a + b, 0) / (countIncludePad ? window.length : found.length);
  });
  return { shape, values };
}

/** `pad`, with a pair for each axis. */
export function pad(x, padding, { mode = 'constant', value = 0 } = {}) {
  const shape = x.shape.map((length, i) => length + padding[i][0] + padding[i][1]);
  const inside = (at, length) => {
    if (mode === 'edge') return Math.min(Math.max(at, 0), length - 1);
    const left = Math.abs(at);
    return left < length ? left : 2 * length - 2 - left;
  };
  const values = from(shape, (place) => {
    const at = place.map((p, i) => p - padding[i][0]);
    if (isIn(x.shape, at)) return x.values[index(x.shape, at)];
    return mode === 'constant'
      ? value
      : x.values[
          index(
            x.shape,
            at.map((p, i) => inside(p, x.shape[i])),
          )
        ];
  });
  return { shape, values };
}

/** `upsample`. */
export function upsample(x, to, { mode = 'nearest', alignCorners = false } = {}) {
  const shape = [...x.shape.slice(0, 2), ...to];
  const spatial = x.shape.slice(2);
  const values = from(shape, ([n, c, ...place]) => {
    const at = place.map((p, i) => {
      if (mode === 'nearest') return Math.floor((p * spatial[i]) / to[i]);
      const exact = alignCorners
        ? (p * (spatial[i] - 1)) / Math.max(to[i] - 1, 1)
        : ((p + 0.5) * spatial[i]) / to[i] - 0.5;
      return Math.min(Math.max(exact, 0), spatial[i] - 1);
    });
    let sum = 0;
    for (const corner of places(spatial.map(() => 2))) {
      const share = at.reduce((product, p, i) => product * (corner[i] ? p % 1 : 1 - (p % 1)), 1);
      const near = at.map((p, i) => Math.min(Math.floor(p) + corner[i], spatial[i] - 1));
      sum += share * x.values[index(x.shape, [n, c, ...near])];
    }
    return sum;
  });
  return { shape, values };
}

/** `groupNorm` and, with given moments for each channel, `batchNorm`. */
export function normalise(x, { groups, mean, variance, weight, bias, eps = 1e-5 }) {
  const [, channels] = x.shape;
  const length = size(x.shape.slice(2));
  const moments = (i) => {
    const channel = Math.floor(i / length) % channels;
    if (mean) return [mean[channel], variance[channel]];
    const width = (channels / groups) * length;
    const row = x.values.slice(Math.floor(i / width) * width, (Math.floor(i / width) + 1) * width);
    const middle = row.reduce((a, b) => a + b, 0) / width;
    return [middle, row.reduce((sum, value) => sum + (value - middle) ** 2, 0) / width];
  };
  const values = x.values.map((value, i) => {
    const channel = Math.floor(i / length) % channels;
    const [middle, spread] = moments(i);
    return ((value - middle) / Math.sqrt(spread + eps)) * (weight?.[channel] ?? 1) + (bias?.[channel] ?? 0);
  });
  return { shape: x.shape, values };
}

/** The Fourier transform of pairs by its definition: rows of `length` pairs. */
export function dft(values, length, isInverse = false) {
  const result = [];
  const angles = Array.from({ length }, (_, i) => ((isInverse ? 2 : -2) * Math.PI * i) / length);
  const [cosines, sines] = [angles.map(Math.cos), angles.map(Math.sin)];
  for (let row = 0; row < values.length; row += 2 * length) {
    for (let k = 0; k < length; k += 1) {
      let [re, im] = [0, 0];
      for (let i = 0; i < length; i += 1) {
        const [a, b] = [values[row + 2 * i], values[row + 2 * i + 1]];
        const [c, s] = [cosines[(i * k) % length], sines[(i * k) % length]];
        re += a * c - b * s;
        im += a * s + b * c;
      }
      result.push(isInverse ? re / length : re, isInverse ? im / length : im);
    }
  }
  return result;
}

/** The k nearest others of each point, in order; equals by their index. */
export function knn({ shape: [count, width], values }, { k, metric = 'euclidean' }) {
  const point = (i) => values.slice(i * width, (i + 1) * width);
  const dot = (a, b) => a.reduce((sum, value, c) => sum + value * b[c], 0);
  const points = Array.from({ length: count }, (_, i) => point(i));
  const norms = points.map((a) => Math.sqrt(dot(a, a)));
  const between = (i, j) => {
    const [a, b] = [points[i], points[j]];
    if (metric === 'euclidean') return Math.sqrt(a.reduce((sum, value, c) => sum + (value - b[c]) ** 2, 0));
    if (norms[i] === 0 || norms[j] === 0) return norms[i] === norms[j] ? 0 : 1;
    return 1 - dot(a, b) / norms[i] / norms[j];
  };
  const nearest = points.flatMap((_, i) => {
    const others = Array.from({ length: count }, (_, j) => [between(i, j), j]).filter(([, j]) => j !== i);
    return others.sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, k);
  });
  const rows = (list) => Array.from({ length: count }, (_, i) => Array.from(list.slice(i * k, (i + 1) * k)));
  return { distances: nearest.map(([d]) => d), indices: nearest.map(([, j]) => j), between, rows };
}

/** A formula over tensors that broadcast, whose shape is `shape`; `formula` takes an element of each. */
export function broadcast(tensors, shape, formula) {
  const values = from(shape, (place) =>
    formula(
      ...tensors.map((x) => {
        const own = place.slice(shape.length - x.shape.length);
        return x.values[
          index(
            x.shape,
            own.map((at, axis) => (x.shape[axis] === 1 ? 0 : at)),
          )
        ];
      }),
    ),
  );
  return { shape, values };
}

/** (1 + erf(x / √2)) / 2 by its series, for x near 0. */
function normalBelow(x) {
  let [sum, term] = [0, x / Math.SQRT2];
  for (let n = 0; n < 60; n += 1) {
    sum += term / (2 * n + 1);
    term *= -(x * x) / 2 / (n + 1);
  }
  return 0.5 + sum / Math.sqrt(Math.PI);
}

/** The operations of expressions on numbers. */
const OPERATIONS = {
  neg: (x) => -x,
  ...Object.fromEntries(
    ['abs', 'exp', 'log', 'sqrt', 'sin', 'cos', 'tanh', 'min', 'max', 'pow'].map((n) => [n, Math[n]]),
  ),
  rsqrt: (x) => 1 / Math.sqrt(x),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  ...ACTIVATIONS,
  geluErf: (x) => x * normalBelow(x),
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  equal: (x, y) => Number(x === y),
  notEqual: (x, y) => Number(x !== y),
  less: (x, y) => Number(x < y),
  lessEqual: (x, y) => Number(x <= y),
  greater: (x, y) => Number(x > y),
  greaterEqual: (x, y) => Number(x >= y),
  where: (x, y, z) => (x === 0 ? z : y),
};

/** A number that has the methods of an expression. */
export function numeric(value) {
  const own = { value };
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    own[name] = (...others) => numeric(operation(value, ...others.map((other) => other.value ?? other)));
  }
  return own;
}

/** softmax(q · kᵀ · scale + mask) · v of q [batch, heads, queries, dim], in the order of `layout`. */
export function attention({ batch, heads, shared, queries, keys, dim }, [q, k, v, mask], options) {
  const { layout, causal, window, scale = dim ** -0.5, softCap } = options;
  const values = new Float64Array(size(q.shape));
  const place = (b, head, of, position, length) =>
    dim * (layout === 'bshd' ? (b * length + position) * of + head : (b * of + head) * length + position);
  for (let row = 0; row < batch * heads * queries; row += 1) {
    const [b, head, query] = [Math.floor(row / heads / queries), Math.floor(row / queries) % heads, row % queries];
    const [at, own] = [place(b, head, heads, query, queries), Math.floor((head * shared) / heads)];
    const last = query + keys - queries;
    const scores = Array.from({ length: keys }, (_, key) => {
      if (causal || window ? key > last || key <= last - (window ?? Infinity) : false) return -Infinity;
      const from = place(b, own, shared, key, keys);
      let score = 0;
      for (let i = 0; i < dim; i += 1) score += q.values[at + i] * k.values[from + i] * scale;
      return (softCap ? softCap * Math.tanh(score / softCap) : score) + (mask?.values[query * keys + key] ?? 0);
    });
    const most = Math.max(...scores);
    const weights = scores.map((score) => (score === -Infinity ? 0 : Math.exp(score - most)));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    weights.forEach((weight, key) => {
      const from = place(b, own, shared, key, keys);
      for (let i = 0; i < dim && weight > 0; i += 1) values[at + i] += (weight / sum) * v.values[from + i];
    });
  }
  return Array.from(values);
}
