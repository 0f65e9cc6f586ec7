/**
 * Training where the model's device is.
 */
import { WebggufError, invalidArgument } from '../../errors.js';
import { warningOf } from '../../load/cache/warning.js';
import { show } from '../../check.js';
import { adapterFile } from './adapter-file.js';
import { type Dataset, batchesOf, parts, stepsOfEpoch, tokensOf } from './batches.js';
import { digestOf } from './digest.js';
import { type Recipe, checkSame, chosenTargets, kindsOf, recipeOf } from './options.js';
import { type Copy, Parameters, firstCopy } from './parameters.js';
import { Pace } from './pace.js';
import { type Base, type Kept, type RunState, TrainingStore } from './saved.js';
import { rateAt } from './schedule.js';
import type { Preference } from './preference.js';
import { type Learner, lossOf, slopeOf } from './steps.js';
import type { AdapterTarget, TrainableModel } from './trainable.js';
import type { TrainingStep, TrainingWarning } from './types.js';
import type { Begin, Facts, Host, HostOptions, Outcome, Unfinished } from './host.js';

/** A run that is on. */
interface Run {
  readonly data: Dataset;
  readonly saveEvery: number;
  readonly pace: Pace;
  readonly preference: Preference | undefined;
  state: RunState;
}

/** A copy in memory, and where the run was then. */
interface Checkpoint {
  readonly copy: Copy;
  readonly run: RunState | undefined;
}

/** {@link Host} in this thread. */
export class LocalHost implements Host {
  readonly facts: Facts;
  readonly #options: HostOptions;
  readonly #recipe: Recipe;
  readonly #targets: readonly AdapterTarget[];
  readonly #store: TrainingStore | undefined;
  readonly #clock: () => number;
  #model: TrainableModel;
  #parameters: Parameters;
  /** The run that is on or was interrupted. */
  #state: RunState | undefined;
  #run: Run | undefined;
  #checkpoint: Checkpoint;
  #checkpointAt: number;
  #hasStepped = false;
  #isResumed: boolean;
  /** Whether the page was told that nothing is kept. */
  #isTold = false;

  private constructor(given: HostOptions, model: TrainableModel, opened: Opened) {
    const { kept, copy, store, warning } = opened;
    this.#options = given;
    this.#clock = given.clock ?? (() => performance.now());
    this.#model = model;
    this.#targets = chosenTargets(model.targets, opened.recipe.targets);
    const recipe = { ...opened.recipe, targets: kindsOf(this.#targets).sort() };
    this.#recipe = recipe;
    if (kept) checkTargets(kept, this.#targets);
    const first = copy ?? firstCopy(this.#targets, recipe);
    this.#store = store;
    this.#isTold = warning !== undefined;
    this.#state = kept?.run;
    this.#isResumed = kept !== undefined;
    this.#hasStepped = first.optimizerSteps > 0;
    this.#checkpoint = { copy: first, run: this.#state };
    this.#checkpointAt = this.#clock();
    this.#parameters = new Parameters(model.gpu, this.#targets, recipe, first);
    this.facts = {
      targets: kindsOf(this.#targets),
      kinds: kindsOf(model.targets),
      parameters: this.#targets.reduce((sum, { rows, cols }) => sum + recipe.rank * (rows + cols), 0),
      recipe,
      unfinished: this.#unfinished,
      warning,
    };
  }

  /** @throws {WebggufError} as {@link trainer} */
  static async open(given: HostOptions): Promise<LocalHost> {
    const opened = await openedFrom(given);
    let model: TrainableModel | undefined;
    try {
      model = await given.openModel();
      return new LocalHost(given, model, opened);
    } catch (error) {
      opened.store?.release();
      model?.free();
      throw error;
    }
  }

  async packs(length: number): Promise<boolean> {
    return this.#model.packs(length);
  }

  async begin({ data, recipe, given, resume, saveEvery }: Begin): Promise<void> {
    const unfinished = this.#unfinished && this.#state;
    if (resume === true && !unfinished) throw invalidArgument('run: there is no interrupted run to go on with');
    const digest = digestOf(data);
    const goesOn = resume ?? (this.#isResumed && unfinished !== undefined);
    this.#isResumed = false;
    if (goesOn && unfinished) {
      checkSame('run: the interrupted run had its examples', { data: unfinished.data }, { data: digest });
      checkSame('run: the run was interrupted', unfinished.recipe, given);
    } else {
      const steps = recipe.epochs * stepsOfEpoch(data.sequences.length, recipe);
      this.#state = { recipe, data: digest, step: 0, steps, tokens: 0, sinceBest: 0, isOver: false };
      if (this.#hasStepped) this.#parameters.begin();
    }
    const state = this.#state as RunState;
    const { loss, beta } = state.recipe;
    const preference = loss === 'dpo' ? { beta, references: new Map() } : undefined;
    this.#run = { data, saveEvery, pace: new Pace(), preference, state };
    if (!goesOn && this.#hasStepped) await this.#check();
    else this.#checkpoint = { ...this.#checkpoint, run: state };
    this.#checkpointAt = this.#clock();
  }

  async step(): Promise<Outcome | undefined> {
    const run = this.#run;
    if (!run || run.state.isOver) return undefined;
    const began = this.#clock();
    const { step: done, steps, recipe } = run.state;
    const batches = batchesOf(run.data, recipe, this.#recipe.seed, done);
    const { gradients, loss, norm, accuracy } = await slopeOf(this.#learner, batches, this.#recipe.clipNorm);
    const learningRate = rateAt(done, steps, this.#recipe);
    let warning: TrainingWarning | undefined;
    try {
      if (!Number.isFinite(loss)) await this.#fail(`the loss is ${loss}`);
      if (!Number.isFinite(norm)) await this.#fail(`the norm of the gradients is ${norm}`);
      // What is kept is known to have a finite loss.
      if (began - this.#checkpointAt >= run.saveEvery) warning = await this.#keep();
      this.#parameters.step(gradients, learningRate);
    } finally {
      this.#model.gpu.free(gradients);
    }
    this.#hasStepped = true;
    const read = tokensOf(batches.flat());
    this.#move({ step: done + 1, tokens: run.state.tokens + read, loss });
    const heldOutLoss = await this.#evaluate(run);
    const step: TrainingStep = {
      ...{ step: done + 1, steps, epoch: 1 + Math.floor(done / stepsOfEpoch(run.data.sequences.length, recipe)), loss },
      ...(heldOutLoss !== undefined && { heldOutLoss }),
      ...(accuracy !== undefined && { accuracy }),
      ...{ learningRate, gradientNorm: norm, tokens: run.state.tokens },
      ...run.pace.after(this.#clock() - began, read, steps - done - 1),
    };
    return { step, warning: (run.state.isOver ? await this.#keep() : undefined) ?? warning };
  }

  async interrupt(): Promise<Unfinished | undefined> {
    const run = this.#run;
    this.#run = undefined;
    if (run && this.#checkpoint.run !== run.state) await this.#keep();
    return this.#unfinished;
  }

  async file(dtype: 'f32' | 'f16'): Promise<Blob> {
    const { architecture } = this.#model;
    const facts = { architecture, targets: this.#targets, recipe: this.#recipe };
    return adapterFile(facts, await this.#parameters.matrices(), dtype);
  }

  async save(name: string | undefined): Promise<void> {
    const own = this.#store;
    if (name === undefined && !own) {
      if (this.#options.options.name === undefined) throw invalidArgument('save: the training has no name: save(name)');
      throw notKept(this.#options.options.name, new Error('the private file system could not be opened'));
    }
    const isOwn = name === undefined || name === own?.name;
    await this.#check();
    const store = isOwn ? (own as TrainingStore) : await stored(name, () => TrainingStore.open(name));
    try {
      await stored(store.name, () => store.write(this.#kept(store.name), this.#checkpoint.copy));
    } finally {
      if (!isOwn) store.release();
    }
  }

  async recover(): Promise<void> {
    try {
      this.#parameters.free();
      this.#model.free();
    } catch {
      // Gone with the device.
    }
    this.#model = await this.#options.openModel();
    const { copy, run } = this.#checkpoint;
    this.#parameters = new Parameters(this.#model.gpu, this.#targets, this.#recipe, copy);
    this.#state = run;
    if (this.#run && run) this.#run.state = run;
  }

  async free(): Promise<void> {
    this.#run = undefined;
    this.#parameters.free();
    this.#model.free();
    this.#store?.release();
  }

  get #learner(): Learner {
    const { rank, alpha } = this.#recipe;
    const preference = this.#run?.preference;
    return { model: this.#model, parameters: this.#parameters, scale: alpha / rank, preference };
  }

  get #unfinished(): Unfinished | undefined {
    const state = this.#state;
    return state && !state.isOver ? { step: state.step, steps: state.steps } : undefined;
  }

  #move(change: Partial<RunState>): void {
    this.#state = { ...(this.#state as RunState), ...change };
    if (this.#run) this.#run.state = this.#state;
  }

  /** The held-out loss where it is due. Ends the run where that has not fallen for long, and after the last step. */
  async #evaluate(run: Run): Promise<number | undefined> {
    const { recipe, step, steps, bestLoss = Number.POSITIVE_INFINITY, sinceBest } = run.state;
    const { heldOut, sequences } = run.data;
    const isLast = step === steps;
    const every = recipe.evaluateEvery ?? stepsOfEpoch(sequences.length, recipe);
    if (heldOut.length === 0 || !(isLast || step % every === 0)) {
      if (isLast) this.#move({ isOver: true });
      return undefined;
    }
    const loss = await lossOf(this.#learner, parts(heldOut, recipe.batch));
    if (!Number.isFinite(loss)) await this.#fail(`the held-out loss is ${loss}`);
    const isBest = loss < bestLoss;
    if (isBest) this.#parameters.keepBest();
    const since = isBest ? 0 : sinceBest + 1;
    const isOver = isLast || since >= (recipe.patience ?? Number.POSITIVE_INFINITY);
    this.#move({ isOver, sinceBest: since, ...(isBest && { bestLoss: loss }) });
    if (isOver) this.#parameters.takeBest();
    return loss;
  }

  /** Ends the run: the matrices are those before the last step, with which the loss was a number. */
  async #fail(why: string): Promise<never> {
    const { step } = this.#state as RunState;
    const good = this.#parameters.undo() ? step - 1 : step;
    this.#state = undefined;
    this.#run = undefined;
    await this.#keep();
    const kept = good > 0 ? `the adapter is what it was after step ${good}` : 'the run has changed nothing';
    throw invalidArgument(`run: step ${step + 1}: ${why}; ${kept}; a smaller learningRate may help`);
  }

  /** Copies everything to memory. */
  async #check(): Promise<void> {
    // As it is now: a step may be under way.
    const [run, copying] = [this.#state, this.#parameters.copy()];
    this.#checkpoint = { copy: await copying, run };
    this.#checkpointAt = this.#clock();
  }

  /** Copies everything to memory, and to the training's file if there is one; says once if that fails. */
  async #keep(): Promise<TrainingWarning | undefined> {
    await this.#check();
    const store = this.#store;
    if (!store) return undefined;
    try {
      await store.write(this.#kept(store.name), this.#checkpoint.copy);
      return undefined;
    } catch (error) {
      if (this.#isTold) return undefined;
      this.#isTold = true;
      return warningOf(`the training ${show(store.name)}`, error) as TrainingWarning;
    }
  }

  #kept(name: string): Kept {
    const { copy, run } = this.#checkpoint;
    return {
      ...{ name, base: this.#options.base, recipe: this.#recipe, targets: this.#targets, run },
      ...{ optimizerSteps: copy.optimizerSteps, hasMoments: copy.moments.length > 0, hasBest: copy.best !== undefined },
      saved: Date.now(),
    };
  }
}

/** What is known before the model is opened. */
interface Opened {
  readonly recipe: Recipe;
  readonly kept?: Kept | undefined;
  readonly copy?: Copy | undefined;
  readonly store?: TrainingStore | undefined;
  readonly warning?: TrainingWarning | undefined;
}

async function openedFrom({ base, options }: HostOptions): Promise<Opened> {
  const { resume, name } = options;
  if (resume !== undefined) return resumed(resume, base, options);
  const recipe = recipeOf(options);
  if (name === undefined) return { recipe };
  try {
    return { recipe, store: await TrainingStore.open(name) };
  } catch (error) {
    if (error instanceof WebggufError) throw error;
    return { recipe, warning: warningOf(`the training ${show(name)}`, error) as TrainingWarning };
  }
}

async function resumed(name: string, base: Base, options: HostOptions['options']): Promise<Opened> {
  const store = await stored(name, () => TrainingStore.open(name));
  try {
    const found = await stored(name, () => store.read());
    if (!found) throw invalidArgument(`trainer: no training ${show(name)} is kept here`);
    const { kept, copy } = found;
    checkSame(`trainer: ${show(name)} was trained on a model`, kept.base, base);
    return { recipe: recipeOf(options, kept.recipe), kept, copy, store };
  } catch (error) {
    store.release();
    throw error;
  }
}

function checkTargets(kept: Kept, targets: readonly AdapterTarget[]): void {
  const shown = (list: readonly AdapterTarget[]): string[] =>
    list.map(({ name, rows, cols }) => `${name} ${rows}×${cols}`);
  const [own, found] = [shown(kept.targets), shown(targets)];
  const odd = own.findIndex((target, at) => target !== found[at]);
  if (odd < 0 && own.length === found.length) return;
  const [was, is] = odd < 0 ? [own.length, found.length] : [own[odd], found[odd] ?? 'nothing'];
  throw invalidArgument(`trainer: ${show(kept.name)} was trained on weights of other shapes: ${was}, here ${is}`);
}

/** Does `work` with the private file system; what the browser throws becomes an error of the package. */
async function stored<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof WebggufError ? error : notKept(name, error);
  }
}

function notKept(name: string, cause: unknown): WebggufError {
  const { code, message } = warningOf(`the training ${show(name)}`, cause);
  return new WebggufError(code === 'cache_full' ? 'limit_exceeded' : 'feature_missing', message, { cause });
}
