// The functions of a WebAssembly module in an order that compresses well. gzip finds repetitions within the last 32
// KiB, and functions that are alike (instances of one generic function, methods of similar types) lie megabytes apart
// where the linker put them.

import {
  CODE_SECTION,
  CUSTOM_SECTION,
  IMPORT_SECTION,
  number,
  readNumber,
  sectionIn,
  sectionOf,
} from './wasm_sections.mjs';

/** Bytes that gzip looks back. */
const WINDOW = 32_000;
/** Bytes of a sequence that functions are compared by. */
const SEQUENCE = 6;
/** One in this many sequences is looked at, chosen by its hash. */
const SAMPLED = 4;
/** What more functions have says nothing about any of them. */
const COMMON = 400;
/** How much a function's length counts against it: 0 prefers long ones, 1 those that share most of their bytes. */
const BY_LENGTH = 0.7;

/**
 * The module with a name for each function, such that functions sorted by name are in a good order: wasm-opt sorts them
 * so with `--reorder-functions-by-name`.
 */
export function namedInOrder(module) {
  const order = goodOrder(functionsOf(module));
  const names = new Array(order.length);
  order.forEach((of, place) => {
    names[of] = Buffer.from(String(place).padStart(6, '0'));
  });
  const first = countImports(module);
  const entries = names.flatMap((name, index) => [number(first + index), number(name.length), name]);
  const map = Buffer.concat([number(names.length), ...entries]);
  const title = Buffer.from('name');
  const content = Buffer.concat([number(title.length), title, sectionOf(1, map)]);
  return Buffer.concat([module, sectionOf(CUSTOM_SECTION, content)]);
}

/** The indices of these byte strings: each is followed by the one that has most in common with what is before it. */
export function goodOrder(functions) {
  const sequences = functions.map(sequencesOf);
  const window = new Window(sequences);
  const left = new Set(functions.keys());
  const order = [];
  for (let next = 0; left.size > 0; next = best(left, window.shared, sequences)) {
    order.push(next);
    left.delete(next);
    window.push(next, functions[next].length);
  }
  return order;
}

function best(left, shared, sequences) {
  let [found, most] = [-1, -1];
  for (const index of left) {
    const value = shared[index] / (sequences[index].length + SAMPLED) ** BY_LENGTH;
    if (value > most) [found, most] = [index, value];
  }
  return found;
}

/** What lies within gzip's reach, and how much of it each function has, too. */
class Window {
  /** How many sequences of each function are in the window. */
  shared;
  #sequences;
  /** Functions by sequence. */
  #having = new Map();
  /** How often a sequence is in the window. */
  #counts = new Map();
  #queue = [];
  #bytes = 0;

  constructor(sequences) {
    this.#sequences = sequences;
    this.shared = new Int32Array(sequences.length);
    sequences.forEach((own, index) => {
      for (const sequence of own) {
        const having = this.#having.get(sequence);
        if (having) having.push(index);
        else this.#having.set(sequence, [index]);
      }
    });
  }

  push(index, length) {
    for (const sequence of this.#sequences[index]) this.#count(sequence, 1);
    this.#queue.push({ index, length });
    this.#bytes += length;
    while (this.#bytes > WINDOW && this.#queue.length > 1) {
      const oldest = this.#queue.shift();
      this.#bytes -= oldest.length;
      for (const sequence of this.#sequences[oldest.index]) this.#count(sequence, -1);
    }
  }

  #count(sequence, by) {
    const before = this.#counts.get(sequence) ?? 0;
    this.#counts.set(sequence, before + by);
    if (before > 0 && before + by > 0) return;
    const having = this.#having.get(sequence);
    if (having.length <= COMMON) for (const index of having) this.shared[index] += by;
  }
}

/** Hashes of some sequences of bytes, each once. */
function sequencesOf(bytes) {
  const found = new Set();
  for (let start = 0; start + SEQUENCE <= bytes.length; start++) {
    let hash = 0;
    for (let at = start; at < start + SEQUENCE; at++) hash = Math.imul(hash, 0x01000193) ^ bytes[at];
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    hash ^= hash >>> 13;
    if (hash % SAMPLED === 0) found.add(hash);
  }
  return [...found];
}

/** The bytes of each function that the module defines. */
function functionsOf(module) {
  const body = sectionIn(module, CODE_SECTION);
  let [count, at] = readNumber(body, 0);
  return Array.from({ length: count }, () => {
    const [length, start] = readNumber(body, at);
    at = start + length;
    return body.subarray(start, at);
  });
}

/** How many functions a module imports: they come first. */
function countImports(module) {
  const body = sectionIn(module, IMPORT_SECTION);
  let count = 0;
  for (let [left, at] = readNumber(body, 0); left > 0; left--) {
    at = pastName(body, pastName(body, at));
    const kind = body[at++];
    if (kind === FUNCTION) count++;
    at = PAST_TYPE[kind](body, at);
  }
  return count;
}

const FUNCTION = 0;
const pastNumber = (body, at) => readNumber(body, at)[1];
const pastName = (body, at) => {
  const [length, start] = readNumber(body, at);
  return start + length;
};
const pastLimits = (body, at) => {
  const [flags, first] = readNumber(body, at);
  return flags & 1 ? pastNumber(body, pastNumber(body, first)) : pastNumber(body, first);
};
/** Where the type of what is imported ends, by its kind: function, table, memory, global. */
const PAST_TYPE = [pastNumber, (body, at) => pastLimits(body, at + 1), pastLimits, (_, at) => at + 2];
