/**
 * Opens a loaded model for training, and computes its loss: embedding, layers of which only the inputs are kept, head.
 */
import { shaped } from '../../compute/dispatch.js';
import type { LocalEngine } from '../../engine/local.js';
import { invalidArgument } from '../../errors.js';
import { show } from '../../check.js';
import { isQuantised } from '../../tensor/dtypes.js';
import { tensorShaders } from '../../tensor/shaders.js';
import { type FloatTensor, Tensor } from '../../tensor/tensor.js';
import { wasmClasses } from '../../wasm/instance.js';
import { linkPart } from '../../wasm/link-part.js';
import { tensors as tensorCode } from '../../wasm/tensors.js';
import { Gpu } from '../gpu.js';
import { type Head, headOf, lossOf } from './head.js';
import { type Attention, type Op, type Program, borderOf, noGradients, programOf, writesOf } from './program.js';
import { type Activations, type RopeTables, type Setting, run, tablesOf, temperatureKey, withTables } from './run.js';
import type { AdapterPair, AdapterTarget, TrainableModel, TrainingBatch } from './trainable.js';

/** A score that hides a key. */
const HIDDEN = -3.2e38;

/** Bytes that the last layers may keep for the way back, rather than to be computed again. */
const KEPT_BYTES = 512 << 20;

/**
 * Bytes of f32 that a software adapter may unpack weights into: products there are twice as fast with these, and fewer
 * pipelines are compiled, for seconds each.
 */
const PLAIN_BYTES = 256 << 20;

/** Values of a head that `attention` takes at most. */
const MOST_HEAD_DIM = 256;

/**
 * Opens a model on its own device, in this thread. Its weights are not copied, except for small models on
 * software adapters.
 *
 * @param options `packed`: not for these either
 * @throws {WebggufError} `invalid_argument` for a model on the CPU; `unsupported_architecture` for one with operations
 *   that have no gradient here, such as experts
 */
export async function openTrainable(engine: LocalEngine, { packed = false } = {}): Promise<TrainableModel> {
  await linkPart((await wasmClasses()).exports, 'wasm/tensors.js', tensorCode);
  const [tensors, words, names, handles] = engine.exportProgram(tensorShaders);
  const gpu = Gpu.on(tensors);
  try {
    const stored = handles.map((handle) => new Tensor(gpu, handle));
    const weights = packed ? stored : quickest(gpu, stored);
    const fitted = new Map<Tensor, Tensor>();
    const fit = (matrix: Tensor, width: number): Tensor => {
      if (matrix.shape[1] === width) return matrix;
      const known = fitted.get(matrix) ?? gpu.narrow(matrix, 1, 0, width);
      fitted.set(matrix, known);
      return known;
    };
    return new LoweredModel(gpu, engine.info.architecture, programOf(words, names, weights, fit));
  } catch (error) {
    gpu.destroy();
    throw error;
  }
}

/** The weights in the form that is fastest on this device. */
function quickest(gpu: Gpu, weights: readonly Tensor[]): readonly Tensor[] {
  const bytes = weights.reduce((sum, { size }) => sum + 4 * size, 0);
  if (!gpu.info.software || bytes > PLAIN_BYTES) return weights;
  return weights.map((weight) => {
    if (!isQuantised(weight.dtype)) return weight;
    const rows = Uint32Array.from({ length: weight.shape[0] as number }, (_, row) => row);
    return gpu.scope(() => gpu.embedding(weight, gpu.tensor(rows)));
  });
}

/** Operations of a layer, the activations that it reads from before, and those that are read after it. */
interface Layer {
  readonly ops: readonly Op[];
  readonly needs: readonly number[];
  readonly gives: readonly number[];
}

class LoweredModel implements TrainableModel {
  readonly gpu: Gpu;
  readonly architecture: string;
  readonly targets: readonly AdapterTarget[];
  readonly #program: Program;
  readonly #layers: readonly Layer[];
  readonly #head: Head;
  readonly #attentions: readonly Attention[];

  constructor(gpu: Gpu, architecture: string, program: Program) {
    this.gpu = gpu;
    this.architecture = architecture;
    this.targets = targetsOf(program);
    this.#program = program;
    this.#layers = layersOf(program);
    this.#head = headOf(program);
    this.#attentions = program.layers.flat().filter((op) => op.op === 'attend');
    if (this.#attentions.some(({ headDim }) => headDim > MOST_HEAD_DIM)) {
      throw noGradients(`heads of more than ${MOST_HEAD_DIM} values`);
    }
  }

  loss(batch: TrainingBatch, adapters: Readonly<Record<string, AdapterPair>>, scale: number): FloatTensor {
    this.#check(batch, adapters, scale);
    const { gpu } = this;
    return gpu.scope(() => {
      const setting = this.#setting(batch, { pairs: adapters, scale });
      let values: Activations = new Map();
      run(setting, this.#program.embed, values);
      const again = this.#layers.length - this.#keptLayers(setting.batch * setting.length);
      for (const [at, layer] of this.#layers.entries()) values = through(setting, layer, values, at < again);
      const targets = shaped(gpu, batch.targets, [setting.batch * setting.length]) as Tensor<'i32'>;
      return lossOf(setting, this.#head, values, targets);
    });
  }

  packs(length: number): boolean {
    const isPlaced = this.#program.embed.some(({ op }) => op === 'places');
    return !isPlaced && !this.#attentions.some(({ temperature, span }) => temperature && length > span);
  }

  /** Also all other tensors of its `gpu`. */
  free(): void {
    this.gpu.destroy();
  }

  /** How many of the last layers keep all activations for this number of tokens. */
  #keptLayers(tokens: number): number {
    const { widths } = this.#program;
    let bytes = 0;
    const firstAgain = [...this.#layers].reverse().findIndex(({ ops }) => {
      // What is written is read by the next operation, which often keeps it in a form of its own, too.
      const written = ops.flatMap(writesOf).reduce((sum, y) => sum + (widths[y] as number), 0);
      bytes += 8 * written * tokens;
      return bytes > KEPT_BYTES;
    });
    return firstAgain < 0 ? this.#layers.length : firstAgain;
  }

  #setting({ ids, segments }: TrainingBatch, adapters: Setting['adapters']): Setting {
    const [gpu, program] = [this.gpu, this.#program];
    const [batch, length] = ids.shape as [number, number];
    const isPlaced = program.embed.some(({ op }) => op === 'places');
    const places = isPlaced ? Uint32Array.from({ length: batch * length }, (_, at) => at % length) : undefined;
    const temperatures = new Map<string, Tensor>();
    for (const attention of this.#attentions) {
      const key = temperatureKey(attention);
      if (attention.temperature && !temperatures.has(key)) {
        temperatures.set(key, gpu.tensor(factorsOf(attention, length), [length, 1, 1]));
      }
    }
    return {
      ...{ gpu, program, batch, length, temperatures, adapters },
      ids: shaped(gpu, ids, [batch * length]) as Tensor<'u32'>,
      places: places && gpu.tensor(places),
      mask: segments && maskOf(gpu, segments),
      ropeTables: program.ropeTables.map((_, table) => this.#ropeTable(table, length)),
    };
  }

  /** Cosines and sines of positions, and of the opposite angles. */
  #ropeTable(table: number, length: number): RopeTables {
    const { turns, magnitude } = this.#program.ropeTables[table] as Program['ropeTables'][number];
    // Without rotations the table is not read.
    if (turns.length === 0) return [this.gpu.tensor([0]), this.gpu.tensor([0])];
    const shape = [length, turns.length, 2];
    const angles = Float64Array.from({ length: length * turns.length }, (_, at) => {
      const turned = Math.floor(at / turns.length) * (turns[at % turns.length] as number);
      return 2 * Math.PI * (turned % 1);
    });
    const there = Float32Array.from({ length: 2 * angles.length }, (_, at) => {
      const angle = angles[at >> 1] as number;
      return magnitude * (at % 2 === 0 ? Math.cos(angle) : Math.sin(angle));
    });
    const back = there.map((value, at) => (at % 2 === 0 ? value : -value));
    return [this.gpu.tensor(there, shape), this.gpu.tensor(back, shape)];
  }

  #check(batch: TrainingBatch, adapters: Readonly<Record<string, AdapterPair>>, scale: number): void {
    checkBatch(batch);
    const length = batch.ids.shape[1] as number;
    for (const op of this.#program.embed) {
      if (op.op !== 'places') continue;
      if (batch.segments)
        throw invalidArgument('loss: the model counts positions from the start of a row, so no segments');
      const most = op.table.reduce((rows, shard) => rows + (shard.shape[0] as number), 0);
      if (length > most) throw invalidArgument(`loss: ids is ${batch.ids}; the model has ${most} positions`);
    }
    if (batch.segments && this.#attentions.some(({ temperature, span }) => temperature && length > span)) {
      throw invalidArgument(`loss: segments in rows of ${length} tokens: the model scales queries by their position`);
    }
    if (!Number.isFinite(scale)) throw invalidArgument(`loss: scale must be a number, found ${show(scale)}`);
    const known = new Map(this.targets.map((target) => [target.name, target]));
    for (const [name, { a, b }] of Object.entries(adapters)) checkPair(name, known.get(name), a, b);
  }
}

/** A layer, of which nothing but its inputs is kept where it is to be computed `again` and gives one activation. */
function through(setting: Setting, { ops, needs, gives }: Layer, values: Activations, again: boolean): Activations {
  const { gpu } = setting;
  // What the layer reads besides is an input, too: it is kept until the layer is computed again.
  const inputs = [...needs.map((x) => values.get(x) as Tensor), ...tablesOf(setting)];
  const made = (...given: Tensor[]): Activations => {
    const own: Activations = new Map(needs.map((x, at) => [x, given[at] as Tensor]));
    run(withTables(setting, given.slice(needs.length)), ops, own);
    return own;
  };
  const after: Activations = new Map(values);
  const [only] = gives;
  if (again && gives.length === 1 && only !== undefined) {
    after.set(
      only,
      gpu.checkpoint((...given) => made(...given).get(only) as Tensor, ...inputs),
    );
  } else {
    const own = made(...inputs);
    for (const y of gives) after.set(y, own.get(y) as Tensor);
  }
  return after;
}

/** The layers of a program, with the activations that go from one to the next. */
function layersOf({ layers, head }: Program): Layer[] {
  const borders = [...layers, head].map(borderOf);
  return layers.map((ops, at) => {
    const { needs, writes } = borders[at] as ReturnType<typeof borderOf>;
    const later = new Set(borders.slice(at + 1).flatMap((border) => border.needs));
    return { ops, needs, gives: writes.filter((y) => later.has(y)) };
  });
}

/** The tensors that products of layers read, each once. */
function targetsOf({ layers, widths }: Program): AdapterTarget[] {
  const found = new Map<string, AdapterTarget>();
  for (const op of layers.flat()) {
    if (op.op !== 'products') continue;
    for (const { name, of } of op.products) {
      const kind = name.replace(/^blk\.\d+\./, '').replace(/\.weight$/, '');
      found.set(name, { name, kind, rows: of, cols: widths[op.x] as number });
    }
  }
  return [...found.values()];
}

const factorsOf = ({ temperature, span }: Attention, length: number): Float32Array =>
  Float32Array.from({ length }, (_, position) => 1 + temperature * Math.log(Math.floor(position / span) + 1));

/** f32 [batch, 1, length, length]: 0 where query and key are of one example. */
function maskOf(gpu: Gpu, segments: Tensor): Tensor {
  const [batch, length] = segments.shape as [number, number];
  const queries = gpu.reshape(segments, [batch, 1, length, 1]);
  const keys = gpu.reshape(segments, [batch, 1, 1, length]);
  return gpu.fuse([queries, keys], (query, key) => query.equal(key).where(0, HIDDEN));
}

function checkBatch({ ids, targets, segments }: TrainingBatch): void {
  const wanted = { ids: [ids, 'u32'], targets: [targets, 'i32'], ...(segments && { segments: [segments, 'u32'] }) };
  for (const [name, [tensor, dtype]] of Object.entries(wanted) as [string, [Tensor, string]][]) {
    if (!(tensor instanceof Tensor)) throw invalidArgument(`loss: ${name} must be a tensor, found ${show(tensor)}`);
    const fits = tensor.dtype === dtype && tensor.shape.length === 2 && tensor.shape.join() === ids.shape.join();
    if (!fits) throw invalidArgument(`loss: ${name} is ${tensor}, expected [batch, length] ${dtype}; ids is ${ids}`);
  }
}

function checkPair(name: string, target: AdapterTarget | undefined, a: Tensor, b: Tensor): void {
  if (!target) throw invalidArgument(`loss: adapters: the model has no weight '${name}' that they can change`);
  const [rank] = a.shape;
  const isPair = [a, b].every(({ dtype }) => dtype === 'f32');
  if (isPair && a.shape.join() === `${rank},${target.cols}` && b.shape.join() === `${target.rows},${rank}`) return;
  const expected = `[rank, ${target.cols}] and [${target.rows}, rank], both f32`;
  throw invalidArgument(`loss: adapters: a and b of ${name} are ${a} and ${b}, expected ${expected}`);
}
