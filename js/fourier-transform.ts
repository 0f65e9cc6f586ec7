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
  for (let half = 1; half < n; half *= 2) {
    for (let k = 0; k < half; k += 1) {
      const [c, s] = [Math.cos((Math.PI * k) / half), -Math.sin((Math.PI * k) / half)];
      for (let i = k; i < n; i += 2 * half) butterfly(re, im, [i, i + half], [c, s]);
    }
  }
}

function swap(re: Float64Array, im: Float64Array, i: number, j: number): void {
  [re[i], re[j]] = [re[j] as number, re[i] as number];
  [im[i], im[j]] = [im[j] as number, im[i] as number];
}

function butterfly(re: Float64Array, im: Float64Array, [i, j]: [number, number], [c, s]: [number, number]): void {
  const [x, y] = [re[j] as number, im[j] as number];
  const [turnedX, turnedY] = [x * c - y * s, x * s + y * c];
  re[j] = (re[i] as number) - turnedX;
  im[j] = (im[i] as number) - turnedY;
  re[i] = (re[i] as number) + turnedX;
  im[i] = (im[i] as number) + turnedY;
}
