/**
 * What training asks of the thread with the model: in the thread of the page, or in the model's worker. All arguments
 * and results are plain data, which crosses to another thread.
 */
import type { Dataset } from './batches.js';
import type { Recipe, RunRecipe } from './options.js';
import type { Base } from './saved.js';
import type { TrainableModel } from './trainable.js';
import type { TrainerOptions, TrainingStep, TrainingWarning } from './types.js';

/** How far an interrupted run is. */
export interface Unfinished {
  /** Steps that are done. */
  readonly step: number;
  /** Steps of the run. */
  readonly steps: number;
}

/** What is known once training is open. */
export interface Facts {
  /** Kinds of weights that are trained, and all of the model. */
  readonly targets: readonly string[];
  readonly kinds: readonly string[];
  /** Numbers that are learned. */
  readonly parameters: number;
  readonly recipe: Recipe;
  readonly unfinished?: Unfinished | undefined;
  readonly warning?: TrainingWarning | undefined;
}

/** What a run begins with. */
export interface Begin {
  readonly data: Dataset;
  readonly recipe: RunRecipe;
  /** The given options, which the options of an interrupted run must equal. */
  readonly given: Partial<RunRecipe>;
  readonly resume: boolean | undefined;
  /** In milliseconds. */
  readonly saveEvery: number;
}

/** A step, and what went wrong beside it. */
export interface Outcome {
  readonly step: TrainingStep;
  readonly warning?: TrainingWarning | undefined;
}

/** What {@link Trainer} asks of the thread with the model. */
export interface Host {
  readonly facts: Facts;
  /** Whether several examples fit a sequence of this length. */
  packs(length: number): Promise<boolean>;
  /** Begins a run, or goes on with the one that was interrupted. */
  begin(run: Begin): Promise<void>;
  /** The next step; `undefined` once the run is over. */
  step(): Promise<Outcome | undefined>;
  /** Ends a run that is not over: it can go on later. */
  interrupt(): Promise<Unfinished | undefined>;
  file(dtype: 'f32' | 'f16'): Promise<Blob>;
  save(name: string | undefined): Promise<void>;
  /** Opens the model again, whose device was lost, and goes on from the last copy. */
  recover(): Promise<void>;
  free(): Promise<void>;
}

/** What a host is made with. */
export interface HostOptions {
  readonly base: Base;
  readonly options: Pick<TrainerOptions, Exclude<keyof TrainerOptions, 'onWarning' | 'workerScript'>>;
  readonly openModel: () => Promise<TrainableModel>;
  /** Milliseconds that pass. */
  readonly clock?: () => number;
}
