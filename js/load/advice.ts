/**
 * Which context, KV cache and quantisation of a model take no more memory than a page may have.
 */
import type { Advice, Inspection } from '../types/info.js';
import type { InspectOptions } from '../types/load.js';
import type { ByteSource } from '../wasm/webgguf.js';

/** What a page takes beside the buffers of a model: the engine, scripts, and weights on their way to the GPU. */
const REST = 100e6;
/** Tokens of context below which there is no conversation. */
const LEAST = 512;
/** Tokens that a cache has room for at first. When it is to hold more it grows, and old and new are there at once. */
const FIRST = 4096;
const GROWING = 1.5;
const STEP = 256;

/** Types of the KV cache in the order of their quality, and bits of a value with its share of a scale. */
const KV_BITS = { f16: 16, q8_0: 8.5, q4_0: 4.5 } as const;
type KvType = keyof typeof KV_BITS;

/**
 * Usual quantisations and the bits for a weight that whole files of models of 1B parameters take, whose embeddings have
 * more bits than the others.
 */
const QUANTISATIONS: readonly (readonly [string, number])[] = [
  ['F16', 16],
  ['Q8_0', 8.6],
  ['Q6_K', 6.6],
  ['Q5_K_M', 5.9],
  ['Q4_K_M', 5.3],
  ['Q3_K_M', 4.5],
  ['Q2_K', 3.8],
];

/** What the engine says of a model with these options. */
type Ask = (options: InspectOptions) => Promise<Inspection>;
type OnGpu = NonNullable<Inspection['gpu']>;
type Choice = Pick<Advice, 'contextLength' | 'kvType'>;

/** A source that gives what another one has given before, as often as it is asked: a header is downloaded once. */
function repeated(source: ByteSource): () => ByteSource {
  const pieces: Uint8Array[] = [];
  return () => {
    let at = 0;
    const next = async (): Promise<Uint8Array | undefined> => {
      if (at === pieces.length) {
        const piece = await source.next();
        if (!piece) return undefined;
        pieces.push(piece.slice());
      }
      return pieces[at++];
    };
    // The engine cancels what it has read; the opener of the source cancels that.
    return { name: source.name, size: source.size, next, cancel: () => {} };
  };
}

/** What a session takes as its context grows: bytes in any case, and bytes for each token in f16. */
interface Growth {
  readonly fixed: number;
  readonly perToken: number;
}

/** From two contexts. Layers with a window grow no further at some length: then this is more than they take. */
function growthOf(large: OnGpu, small: OnGpu): Growth {
  const tokens = large.contextLength - small.contextLength;
  const perTokenHere = tokens > 0 ? (large.sessionBytes - small.sessionBytes) / tokens : 0;
  const fixed = Math.max(0, large.sessionBytes - perTokenHere * large.contextLength);
  return { fixed, perToken: (perTokenHere * KV_BITS.f16) / KV_BITS[large.kvType] };
}

/** Bytes of a cache while it grows to `contextLength`. */
const whileGrowing = (bytes: number, contextLength: number): number => bytes * (contextLength > FIRST ? GROWING : 1);

/** The longest context whose cache takes no more than `room` bytes, at most `most`. */
function longest(room: number, perToken: number, most: number): number {
  if (whileGrowing(perToken * most, most) <= room) return most;
  const grown = room / (perToken * GROWING);
  const tokens = grown > FIRST ? grown : Math.min(FIRST, room / perToken);
  return Math.max(0, Math.floor(tokens / STEP) * STEP);
}

/**
 * The best cache that has room for enough tokens, or else the longest context in the smallest; `undefined` where that
 * is too short.
 */
function choose(room: number, perToken: number, { kvTypes, enough, most }: Wanted): Choice | undefined {
  const choices = kvTypes.map((kvType): Choice => {
    const contextLength = longest(room, (perToken * KV_BITS[kvType]) / KV_BITS.f16, most);
    return { kvType, contextLength };
  });
  const last = choices.at(-1);
  return (
    choices.find(({ contextLength }) => contextLength >= enough) ??
    (last && last.contextLength >= Math.min(LEAST, most) ? last : undefined)
  );
}

interface Wanted {
  readonly kvTypes: readonly KvType[];
  /** Tokens of context that are wanted, and the most that are of use. */
  readonly enough: number;
  readonly most: number;
}

function wantedOf({ contextLength, kvType }: InspectOptions, found: Inspection, gpu: OnGpu): Wanted {
  return {
    kvTypes: kvType ? [kvType] : (Object.keys(KV_BITS) as KvType[]),
    enough: gpu.contextLength,
    most: contextLength ?? found.trainedContextLength ?? gpu.contextLength,
  };
}

/** The quantisation with the most bits whose weights take at most this number of bytes. */
function quantisationFor(bytes: number, parameters: number | undefined): string | undefined {
  return QUANTISATIONS.find(([, bits]) => parameters !== undefined && (parameters * bits) / 8 <= bytes)?.[0];
}

/**
 * An inspection with advice for a budget.
 *
 * @param sources the parts of the model, read from their start
 * @param options what is fixed: a context or a type of the cache that the page wants in any case
 * @param budget bytes that model and page may take together, and `taken`, the bytes of an encoder and a draft model
 * @param inspect the engine's
 * @internal
 */
export async function advise(
  sources: readonly ByteSource[],
  options: InspectOptions,
  { memoryBytes, taken }: { memoryBytes: number; taken: number },
  inspect: (sources: ByteSource[], options: InspectOptions) => Promise<Inspection>,
): Promise<Inspection> {
  const readers = sources.map(repeated);
  const ask: Ask = (more) =>
    inspect(
      readers.map((reader) => reader()),
      { ...options, ...more },
    );
  const found = await ask({});
  const { gpu } = found;
  if (!gpu || gpu.sessionBytes === 0) return found;
  const half = await ask({ contextLength: Math.max(2, gpu.contextLength >> 1) });
  const growth = growthOf(gpu, half.gpu ?? gpu);
  const wanted = wantedOf(options, found, gpu);
  const others = REST + taken + growth.fixed;
  const choice = choose(memoryBytes - others - gpu.weightBytes, growth.perToken, wanted);
  if (choice) return confirmed(ask, choice, { memoryBytes, others, growth });
  // With another file: for the context that was wanted, in the first cache that loses little.
  const kvType = wanted.kvTypes.find((name) => name !== 'f16') ?? 'f16';
  const cache = (growth.perToken * wanted.enough * KV_BITS[kvType]) / KV_BITS.f16;
  return withAdvice(found, { contextLength: wanted.enough, kvType }, { memoryBytes, others, cache });
}

/** Within a budget, what a cache takes and what all else takes but the weights. */
interface Shares {
  readonly memoryBytes: number;
  readonly others: number;
  readonly cache: number;
}

function withAdvice(found: Inspection, choice: Choice, { memoryBytes, others, cache }: Shares): Inspection {
  const { gpu, parameters } = found;
  const bytes = Math.ceil(others + cache + (gpu?.weightBytes ?? 0));
  const fits = gpu?.fits === true && bytes <= memoryBytes;
  // Where this file is too large another one has to be smaller, also where its name promises fewer bits than it has.
  const most = fits ? memoryBytes : Math.min(memoryBytes, bytes - 1);
  const quantization = quantisationFor(most - others - cache, parameters);
  return { ...found, advice: { fits, ...choice, bytes, ...(quantization && { quantization }) } };
}

/** What the engine says of a choice; where the device does not give the memory, of half the context, and so on. */
async function confirmed(
  ask: Ask,
  { contextLength, kvType }: Choice,
  budget: { memoryBytes: number; others: number; growth: Growth },
): Promise<Inspection> {
  const found = await ask({ contextLength, kvType });
  const { gpu } = found;
  if (!gpu) return found;
  if (!gpu.fits && contextLength >= 2 * LEAST) {
    return confirmed(ask, { contextLength: contextLength >> 1, kvType }, budget);
  }
  const { memoryBytes, others, growth } = budget;
  const cache = whileGrowing(gpu.sessionBytes - growth.fixed, contextLength);
  return withAdvice(found, { contextLength, kvType }, { memoryBytes, others, cache });
}
