/**
 * What training is told and what it tells.
 */
import type { Example } from './examples.js';
import type { Schedule } from './schedule.js';

/** What went wrong without being an error: training goes on. */
export interface TrainingWarning {
  /**
   * `cache_full`: the browser gives the origin no more space; `cache_unavailable`: there is no private file system
   * here, or it failed: the training is not kept for later; `examples_cut`: examples were longer than `length`;
   * `device_lost`: the GPU device was lost, and training goes on from the last copy.
   */
  readonly code: 'cache_full' | 'cache_unavailable' | 'examples_cut' | 'device_lost';
  /** For people. */
  readonly message: string;
}

/** Options of {@link trainer}. */
export interface TrainerOptions {
  /** Columns of the thin matrices: how much an adapter can learn. Default: 16 */
  rank?: number | undefined;
  /** What an adapter adds is multiplied by alpha / rank. Default: 2 · rank */
  alpha?: number | undefined;
  /** Kinds of weights that the adapter changes, such as `attn_q` and `ffn_down`. Default: all that the model has */
  targets?: readonly string[] | undefined;
  /** The largest step. Default: 2e-4 */
  learningRate?: number | undefined;
  /** Share of a matrix that a step of length 1 takes away. Default: 0 */
  weightDecay?: number | undefined;
  /** Share of the steps in which the learning rate rises from 0. Default: 0.05 */
  warmUp?: number | undefined;
  /** How the learning rate falls after that. Default: `cosine` */
  schedule?: Schedule | undefined;
  /** Gradients whose norm, of all together, is larger are scaled down to it. Default: 1 */
  clipNorm?: number | undefined;
  /** Decides the first values and the order of the examples: an integer from 0. Default: 0 */
  seed?: number | undefined;
  /**
   * Under which name the training is kept in the origin's private file system. A training of that name that was kept
   * before is replaced with the first save. Default: it is not kept
   */
  name?: string | undefined;
  /** The name of a training that was kept, with which it goes on; its options count, and others are refused. */
  resume?: string | undefined;
  /** Hears what is wrong without ending the training. Default: the console */
  onWarning?: ((warning: TrainingWarning) => void) | undefined;
  /**
   * For a model in a worker: the URL of `webgguf/training-worker.js`. Default: the file beside the package's own
   * JavaScript, which Vite and webpack find by themselves
   */
  workerScript?: string | URL | undefined;
}

/** Options of {@link Trainer.run}. */
export interface RunOptions {
  /** How often each example is read. Default: 1 */
  epochs?: number | undefined;
  /** Sequences that are computed at once. Default: 4 */
  batch?: number | undefined;
  /** Batches of a step. Default: 1 */
  accumulate?: number | undefined;
  /** Tokens of a sequence, into which examples are packed. Default: 512, or the model's context where that is less */
  length?: number | undefined;
  /**
   * Examples that are not learned, whose loss shows whether what was learned holds elsewhere: a share of the examples,
   * or examples of their own. With them, the run leaves the adapter whose loss on them was least. Default: none
   */
  heldOut?: number | readonly Example[] | undefined;
  /** Steps from one held-out loss to the next. Default: the steps of an epoch */
  evaluateEvery?: number | undefined;
  /** The run ends after this number of held-out losses without an improvement. Default: it does not */
  patience?: number | undefined;
  /**
   * What is made smaller. `cross-entropy`: how unlikely the model finds what it is to write. `dpo`: of pairs
   * ({@link PreferenceExample}), how little it prefers the chosen answer to the rejected one, compared with the model
   * without an adapter (Direct Preference Optimization); each pair is computed by itself. Default: `cross-entropy`
   */
  loss?: 'cross-entropy' | 'dpo' | undefined;
  /** For `dpo`: how much it costs to differ from the model without an adapter. Default: 0.1 */
  beta?: number | undefined;
  /** Ends the run after the step under way; the iteration then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Seconds after which a training with a name is kept again. Default: 30 */
  saveEvery?: number | undefined;
  /**
   * Whether it goes on with the run that was interrupted, which needs the same examples and options. Default: for the
   * first run after `trainer(model, { resume })`, where that was interrupted
   */
  resume?: boolean | undefined;
}

/** A step of a run. */
export interface TrainingStep {
  /** Which step it was, from 1. After a lost device it goes back. */
  readonly step: number;
  /** Steps of the run; less are done where `patience` ends it. */
  readonly steps: number;
  /** Which epoch it was of, from 1. */
  readonly epoch: number;
  /**
   * Mean cross-entropy of the tokens that are learned, in nats, before the step; of `dpo` the mean of the pairs, which
   * begins at log 2.
   */
  readonly loss: number;
  /** For `dpo`: the share of the step's pairs in which the chosen answer has gained on the rejected one. */
  readonly accuracy?: number;
  /** The same of the examples that are held out, after the step; where it was computed. */
  readonly heldOutLoss?: number;
  /** How far the step went. */
  readonly learningRate: number;
  /** Norm of the gradients before they were clipped. */
  readonly gradientNorm: number;
  /** Tokens that the run has read until now, without padding. */
  readonly tokens: number;
  /** Tokens in a second, over the last steps. */
  readonly tokensPerSecond: number;
  /** How long the remaining steps are likely to take. */
  readonly secondsLeft: number;
}

/** Options of {@link Trainer.adapter}. */
export interface AdapterFileOptions {
  /** How numbers are stored; `f16` takes half the bytes. Default: `f32` */
  dtype?: 'f32' | 'f16' | undefined;
}

/** A training that is kept in the origin's private file system. */
export interface SavedTraining {
  /** The name that it goes on by. */
  readonly name: string;
  /** Steps that are done of its last run. */
  readonly step: number;
  /** Steps of that run; 0 where none was begun, or where it ended with an error. */
  readonly steps: number;
  /** Loss of the last step; absent before the first. */
  readonly loss?: number;
  /** `general.architecture` of the model. */
  readonly architecture: string;
  /** `general.name` of the model, where it has one. */
  readonly model?: string;
  /** When it was saved. */
  readonly saved: Date;
  /** Bytes that it takes. */
  readonly bytes: number;
}
