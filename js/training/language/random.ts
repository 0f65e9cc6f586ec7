/**
 * Random numbers that a seed decides, for first values and for orders.
 */

/** A generator of numbers from 0 to below 1; each `stream` of a seed is another one. */
export function randomNumbers(seed: number, stream: number): () => number {
  let state = mixed(mixed(seed >>> 0) ^ mixed((stream + 0x9e3779b9) >>> 0));
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mixed(state) / 2 ** 32;
  };
}

/** An integer of 32 bits, each bit of which decides on half of the others (Wellons 2018, "Hash prospecting"). */
function mixed(value: number): number {
  let x = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

/** The numbers from 0 to `count - 1` in an order that seed and stream decide (Fisher and Yates). */
export function shuffled(count: number, seed: number, stream: number): number[] {
  const next = randomNumbers(seed, stream);
  const order = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(next() * (last + 1));
    [order[last], order[other]] = [order[other] as number, order[last] as number];
  }
  return order;
}
