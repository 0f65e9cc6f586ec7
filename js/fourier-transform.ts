/**
 * The Fourier transform on the CPU.
 */

/**
 * Transforms a power of two of complex numbers in place (Cooley and Tukey 1965): X[k] = Σ x[j] e^(−2π√−1 · jk / n).
 * With the two arrays in each other's place it is the inverse, without the division by n.
 *
 * @internal
 */
export function transform(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i += 1) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) swap(re, im, i, j);
  }
  const { cos, sin } = turnsOf(n);
  for (let half = 1; half < n; half *= 2) {
    const each = n / (2 * half);
    for (let k = 0; k < half; k += 1) {
      const [c, s] = [cos[k * each] as number, sin[k * each] as number];
      for (let i = k; i < n; i += 2 * half) {
        const [a, b, x, y] = [re[i] as number, im[i] as number, re[i + half] as number, im[i + half] as number];
        const [turnedX, turnedY] = [x * c - y * s, x * s + y * c];
        re[i + half] = a - turnedX;
        im[i + half] = b - turnedY;
        re[i] = a + turnedX;
        im[i] = b + turnedY;
      }
    }
  }
}

/** Cosines and sines of −2π · k / n for all k below n. @internal */
export interface Turns {
  readonly cos: Float64Array;
  readonly sin: Float64Array;
}

/** Sizes whose turns are kept, at most. */
const KEPT = 8;
const kept = new Map<number, Turns>();

/** The turns of a size. @internal */
export function turnsOf(n: number): Turns {
  const known = kept.get(n);
  if (known) return known;
  const [cos, sin] = [new Float64Array(n), new Float64Array(n)];
  for (let k = 0; k < n; k += 1) {
    const angle = (-2 * Math.PI * k) / n;
    [cos[k], sin[k]] = [Math.cos(angle), Math.sin(angle)];
  }
  if (kept.size === KEPT) kept.clear();
  kept.set(n, { cos, sin });
  return { cos, sin };
}

function swap(re: Float64Array, im: Float64Array, i: number, j: number): void {
  [re[i], re[j]] = [re[j] as number, re[i] as number];
  [im[i], im[j]] = [im[j] as number, im[i] as number];
}
