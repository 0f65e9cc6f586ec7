/**
 * What Fourier transforms read besides their input, made in double precision.
 */
import { transform } from '../fourier-transform.js';

/** Pairs (cos, −sin) of 2π · turns: e^(−2π√−1 · turns). */
function circle(turns: readonly number[]): Float32Array {
  return Float32Array.from(turns.flatMap((t) => [Math.cos(2 * Math.PI * t), -Math.sin(2 * Math.PI * t)]));
}

/** Twiddles of a transform of `n`. */
export const roots = (n: number): Float32Array => circle(Array.from({ length: n }, (_, i) => i / n));

/** Twiddles between two dispatches of a transform of `n`: fine and coarse, whose product is any. */
export function farRoots(n: number): Float32Array {
  const fine = Array.from({ length: 1024 }, (_, i) => i / n);
  const coarse = Array.from({ length: Math.ceil(n / 1024) }, (_, i) => (i * 1024) / n);
  return circle([...fine, ...coarse]);
}

/** e^(∓π√−1 · i² / n), with − unless `inverse`. The square is taken modulo 2n, so that no digit is lost. */
function chirp(n: number, inverse: boolean): { re: Float64Array; im: Float64Array } {
  const [re, im] = [new Float64Array(n), new Float64Array(n)];
  let square = 0;
  for (let i = 0; i < n; i += 1) {
    const angle = (Math.PI * square) / n;
    re[i] = Math.cos(angle);
    im[i] = inverse ? Math.sin(angle) : -Math.sin(angle);
    square = (square + 2 * i + 1) % (2 * n);
  }
  return { re, im };
}

const paired = (re: Float64Array, im: Float64Array): Float32Array =>
  Float32Array.from({ length: 2 * re.length }, (_, i) => (i % 2 === 0 ? re : im)[i >> 1] ?? 0);

/**
 * A transform of any length n as a convolution with a chirp (Bluestein 1970): the chirp, and the spectrum of its
 * conjugate of length m, a power of two of at least 2n − 1.
 */
export function bluestein(n: number, m: number, inverse: boolean): { chirp: Float32Array; spectrum: Float32Array } {
  const { re, im } = chirp(n, inverse);
  const [a, b] = [new Float64Array(m), new Float64Array(m)];
  for (let i = 0; i < n; i += 1) {
    a[i] = a[(m - i) % m] = re[i] as number;
    b[i] = b[(m - i) % m] = -(im[i] as number);
  }
  transform(a, b);
  return { chirp: paired(re, im), spectrum: paired(a, b) };
}
