/**
 * Options of training, checked and complete.
 */
import { WebggufError, invalidArgument } from '../../errors.js';
import { type Check, FLAG, NAME, abortSignal, checked, integer, number, ofType, oneOf, show } from '../../check.js';
import type { Schedule } from './schedule.js';
import type { AdapterTarget } from './trainable.js';
import type { AdapterFileOptions, RunOptions, TrainerOptions } from './types.js';

/** What an adapter is and how it is learned, complete; it is kept with a training. See {@link TrainerOptions}. */
export interface Recipe {
  /** Columns of the thin matrices. */
  readonly rank: number;
  /** What the adapter adds is multiplied by alpha / rank. */
  readonly alpha: number;
  /** Kinds of weights, sorted; before the model is open, none means all. */
  readonly targets: readonly string[] | undefined;
  /** The largest step. */
  readonly learningRate: number;
  /** Share of a matrix that a step of length 1 takes away. */
  readonly weightDecay: number;
  /** Share of the steps in which the learning rate rises. */
  readonly warmUp: number;
  /** How the learning rate falls after that. */
  readonly schedule: Schedule;
  /** Norm that gradients are clipped to. */
  readonly clipNorm: number;
  /** Decides the first values and the order of the examples. */
  readonly seed: number;
}

/** Options of a run as plain data; what decides on its steps is kept with a training. */
export interface RunRecipe {
  readonly epochs: number;
  readonly batch: number;
  readonly accumulate: number;
  readonly length: number;
  readonly evaluateEvery: number | undefined;
  readonly patience: number | undefined;
  readonly loss: 'cross-entropy' | 'dpo';
  readonly beta: number;
}

const MOST = 2 ** 32 - 1;
const COUNT = integer(1, MOST, 'an integer of at least 1');
const LARGE = Number.MAX_VALUE;
const POSITIVE = number(Number.MIN_VALUE, LARGE, 'a finite number above 0');
const SHARE = number(0, 1, 'a number from 0 to 1');
const KINDS: Check = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((kind) => typeof kind === 'string')
    ? undefined
    : "an array of kinds of weights, such as ['attn_q', 'attn_v']";

const TRAINER: Record<keyof TrainerOptions, Check> = {
  rank: integer(1, 4096, 'an integer from 1 to 4096'),
  alpha: POSITIVE,
  targets: KINDS,
  learningRate: POSITIVE,
  weightDecay: number(0, LARGE, 'a finite number of at least 0'),
  warmUp: SHARE,
  schedule: oneOf('cosine', 'linear', 'constant'),
  clipNorm: POSITIVE,
  seed: integer(0, MOST, 'an integer from 0 to 4294967295'),
  name: NAME,
  resume: NAME,
  onWarning: ofType('function', 'a function'),
  workerScript: (value) => (typeof value === 'string' || value instanceof URL ? undefined : 'a URL'),
};

const RUN: Record<keyof RunOptions, Check> = {
  epochs: COUNT,
  batch: COUNT,
  accumulate: COUNT,
  length: integer(2, MOST, 'an integer of at least 2'),
  heldOut: (value) => {
    const isShare = typeof value === 'number' && value >= 0 && value < 1;
    return isShare || Array.isArray(value) ? undefined : 'a share from 0 to below 1, or an array of examples';
  },
  evaluateEvery: COUNT,
  patience: COUNT,
  loss: oneOf('cross-entropy', 'dpo'),
  beta: POSITIVE,
  signal: abortSignal,
  saveEvery: number(0, LARGE, 'a number of seconds of at least 0'),
  resume: FLAG,
};

const isGiven = ([, value]: [string, unknown]): boolean => value !== undefined;

/** A checked copy of the options of `trainer`. */
export function trainerOptions(options: TrainerOptions): TrainerOptions {
  const copy = checked('trainer', options, TRAINER);
  const { name, resume } = copy;
  if (name === undefined || resume === undefined || name === resume) return copy;
  throw invalidArgument(`trainer: it is kept as '${resume}' already, and cannot be kept as '${name}', too`);
}

/** The options that decide what is learned; of a training that was kept, its own, which given ones must equal. */
export function recipeOf(options: TrainerOptions, kept?: Recipe): Recipe {
  const { name: _, resume, onWarning: _w, workerScript: _s, ...others } = options;
  const given = { ...others, targets: options.targets && [...options.targets].sort() };
  if (kept) {
    checkSame(`trainer: '${resume}' was trained`, kept, given);
    return kept;
  }
  const { rank = 16, ...rest } = given;
  const defaults = { learningRate: 2e-4, weightDecay: 0, warmUp: 0.05, schedule: 'cosine', clipNorm: 1, seed: 0 };
  const chosen = Object.fromEntries(Object.entries(rest).filter(isGiven));
  return { rank, alpha: 2 * rank, targets: undefined, ...defaults, ...chosen } as Recipe;
}

/** Refuses options that differ from `kept`. */
export function checkSame(what: string, kept: object, given: object): void {
  for (const [name, value] of Object.entries(given).filter(isGiven)) {
    const own = (kept as Record<string, unknown>)[name];
    if (JSON.stringify(own) === JSON.stringify(value)) continue;
    throw invalidArgument(`${what} with ${name} ${written(own)}, found ${written(value)}`);
  }
}

const written = (value: unknown): string => (value === undefined ? 'left out' : JSON.stringify(value));

/** A checked copy of the options of `run`. */
export function runOptions(options: RunOptions): RunOptions {
  const copy = checked('run', options, RUN);
  if (copy.beta !== undefined && copy.loss !== 'dpo') throw invalidArgument("run: option 'beta' needs loss: 'dpo'");
  if (copy.patience === undefined || (copy.heldOut ?? 0) !== 0) return copy;
  throw invalidArgument("run: option 'patience' needs 'heldOut': examples whose loss shows an improvement");
}

/** The options that decide on the steps, with defaults filled in. `contextLength`: the model's. */
export function runRecipeOf(options: RunOptions, contextLength: number): RunRecipe {
  const { epochs = 1, batch = 4, accumulate = 1, length = Math.min(512, contextLength), evaluateEvery } = options;
  if (length > contextLength) {
    const message = `run: option 'length' must be at most the model's context, ${contextLength}, found ${length}`;
    throw new WebggufError('context_full', `${message}; load the model with contextLength: ${length}`);
  }
  const { patience, loss = 'cross-entropy', beta = 0.1 } = options;
  return { epochs, batch, accumulate, length, evaluateEvery, patience, loss, beta };
}

/** How the numbers of an adapter file are stored. */
export function fileType(options: AdapterFileOptions): 'f32' | 'f16' {
  return checked('adapter', options, { dtype: oneOf('f32', 'f16') }).dtype ?? 'f32';
}

/** The weights of the wanted kinds. */
export function chosenTargets(all: readonly AdapterTarget[], kinds: readonly string[] | undefined): AdapterTarget[] {
  const known = kindsOf(all);
  const unknown = kinds?.find((kind) => !known.includes(kind));
  if (unknown === undefined) return all.filter(({ kind }) => kinds?.includes(kind) ?? true);
  throw invalidArgument(`trainer: targets: the model has no ${show(unknown)}; it has ${known.join(', ')}`);
}

/** Kinds of weights, each once. */
export const kindsOf = (targets: readonly AdapterTarget[]): string[] => [...new Set(targets.map(({ kind }) => kind))];
