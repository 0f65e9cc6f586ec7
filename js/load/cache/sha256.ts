/**
 * SHA-256 (FIPS 180-4) of bytes that come in pieces: WebCrypto digests whole buffers only.
 */
import { WebggufError } from '../../errors.js';

const BLOCK = 64;

/** The first 32 bits of the fractional parts of `power`-th roots of the first primes, in integer arithmetic. */
function rootFractions(count: number, power: 2n | 3n): Int32Array {
  const fractions = new Int32Array(count);
  let at = 0;
  for (let n = 2; at < count; n += 1) {
    if (!isPrime(n)) continue;
    // floor(n^(1/power) · 2^32), of which the low 32 bits are the fraction.
    fractions[at++] = Number(BigInt.asIntN(32, root(BigInt(n) << (32n * power), power)));
  }
  return fractions;
}

function isPrime(n: number): boolean {
  for (let d = 2; d * d <= n; d += 1) if (n % d === 0) return false;
  return true;
}

/** floor of the `power`-th root, by bisection. */
function root(value: bigint, power: bigint): bigint {
  let [low, high] = [0n, 1n << 40n];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** power <= value) low = middle;
    else high = middle;
  }
  return low;
}

let constants: { start: Int32Array; rounds: Int32Array } | undefined;

/** A digest in the making. @internal */
export class Sha256 {
  readonly #state: Int32Array;
  readonly #rounds: Int32Array;
  readonly #words = new Int32Array(BLOCK);
  readonly #rest = new Uint8Array(BLOCK);
  #bytes = 0;

  constructor() {
    constants ??= { start: rootFractions(8, 2n), rounds: rootFractions(64, 3n) };
    this.#state = constants.start.slice();
    this.#rounds = constants.rounds;
  }

  /** Adds bytes. */
  update(bytes: Uint8Array): this {
    const held = this.#bytes % BLOCK;
    this.#bytes += bytes.length;
    let at = 0;
    if (held > 0) {
      at = Math.min(BLOCK - held, bytes.length);
      this.#rest.set(bytes.subarray(0, at), held);
      if (held + at < BLOCK) return this;
      this.#blocks(this.#rest);
    }
    const whole = bytes.length - ((bytes.length - at) % BLOCK);
    this.#blocks(bytes.subarray(at, whole));
    this.#rest.set(bytes.subarray(whole));
    return this;
  }

  /** The digest in lower-case hexadecimal; nothing may be added after it. */
  hex(): string {
    const held = this.#bytes % BLOCK;
    const padding = new Uint8Array(held < 56 ? BLOCK - held : 2 * BLOCK - held);
    padding[0] = 0x80;
    new DataView(padding.buffer).setBigUint64(padding.length - 8, BigInt(this.#bytes) * 8n);
    this.update(padding);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #blocks(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += BLOCK) {
      schedule(this.#words, bytes, at);
      compress(this.#state, this.#rounds, this.#words);
    }
  }
}

/** Bytes between two looks at the clock. */
const STEP = 1 << 20;
/** How long the page may wait for its thread, in milliseconds. */
const SLICE = 12;

/** Adds bytes, and lets the page have its thread in between: four megabytes take 30 ms and more. @internal */
export async function hashYielding(hash: Sha256, bytes: Uint8Array): Promise<void> {
  let begun = performance.now();
  for (let at = 0; at < bytes.length; at += STEP) {
    hash.update(bytes.subarray(at, at + STEP));
    if (performance.now() - begun < SLICE) continue;
    await new Promise((resolve) => setTimeout(resolve));
    begun = performance.now();
  }
}

/** The message schedule of the block at `at`: its 16 words and 48 made of them. */
function schedule(w: Int32Array, bytes: Uint8Array, at: number): void {
  for (let i = 0, j = at; i < 16; i += 1, j += 4) {
    w[i] =
      ((bytes[j] as number) << 24) |
      ((bytes[j + 1] as number) << 16) |
      ((bytes[j + 2] as number) << 8) |
      (bytes[j + 3] as number);
  }
  for (let i = 16; i < 64; i += 1) {
    const x = w[i - 15] as number;
    const y = w[i - 2] as number;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = (s0 + s1 + (w[i - 7] as number) + (w[i - 16] as number)) | 0;
  }
}

/**
 * The 64 rounds of a block. Everything is a local 32-bit integer, which compilers keep in registers: arrays, also
 * destructured ones, are three times as slow.
 */
function compress(state: Int32Array, k: Int32Array, w: Int32Array): void {
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let i = 0; i < 64; i += 1) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + (g ^ (e & (f ^ g))) + (k[i] as number) + (w[i] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) | (c & (a | b)))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

/** @internal */
export function wrongDigest(name: string, found: string, expected: string): WebggufError {
  return new WebggufError('integrity_failed', `${name}: the SHA-256 is ${found}, expected ${expected}`);
}
