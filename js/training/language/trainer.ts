/**
 * Training an adapter of a loaded model.
 */
import { WebggufError, invalidArgument } from '../../errors.js';
import { fetched } from '../../engine/fetched.js';
import type { Engine } from '../../engine/engine.js';
import type { LocalEngine } from '../../engine/local.js';
import type { WasmModel } from '../../model/model.js';
import { show } from '../../check.js';
import { knowItself, throughProxies } from '../../proxies.js';
import { dataOf } from './data.js';
import type { Host, Unfinished } from './host.js';
import { LocalHost } from './local-host.js';
import { type Recipe, fileType, runOptions, runRecipeOf, trainerOptions } from './options.js';
import type { Base } from './saved.js';
import { openTrainable } from './open.js';
import type { Example } from './examples.js';
import type { AdapterFileOptions, RunOptions, TrainerOptions, TrainingStep, TrainingWarning } from './types.js';

/** See {@link trainer}. @internal */
export async function openTrainer(model: WasmModel, options: TrainerOptions = {}): Promise<Trainer> {
  const given = trainerOptions(options);
  if (!isModel(model)) throw invalidArgument(`trainer: expected a model of WasmModel.load, found ${show(model)}`);
  const { info } = model;
  if (info.backend !== 'webgpu') {
    throw invalidArgument(`trainer: the model runs on the CPU${info.backendReason ? ` (${info.backendReason})` : ''}`);
  }
  const { onWarning, workerScript, ...plain } = given;
  // Made while the model cannot be freed, which frees the trainer, too.
  return model.withEngine('trainer', async (engine) => {
    const { architecture, name, quantization, parameters, vocabularySize } = info;
    const digest = await digestOf(engine);
    const base: Base = { architecture, name, quantization, parameters, vocabularySize, digest };
    if (engine.train) {
      const { RemoteHost } = await fetched(() => import('./remote.js'));
      const host = await RemoteHost.open(engine as Required<Engine>, { base, options: plain }, workerScript);
      return new Trainer(model, host, onWarning);
    }
    const openModel = () => openTrainable(engine as LocalEngine);
    return new Trainer(model, await LocalHost.open({ base, options: plain, openModel }), onWarning);
  });
}

/** By shape, since a bundler may have two copies of the class. */
const isModel = (value: unknown): boolean => typeof value === 'object' && value !== null && 'withEngine' in value;

/** Where a saved session has the digest of its model. */
const DIGEST = 32;

/** Which file a model is of: a session that has read nothing, saved, says it. */
async function digestOf(engine: Engine): Promise<string> {
  const saved = await engine.save('', Uint32Array.of(0xffffffff));
  const view = new DataView(await saved.slice(DIGEST, DIGEST + 8).arrayBuffer());
  return view.getBigUint64(0, true).toString(16).padStart(16, '0');
}

/** The training of an adapter: what {@link trainer} gives. */
export class Trainer {
  readonly #model: WasmModel;
  readonly #host: Host;
  readonly #onWarning: (warning: TrainingWarning) => void;
  #adapter: number | undefined;
  #unfinished: Unfinished | undefined;
  #isRunning = false;
  #isStopped = false;
  #isFree = false;
  #isModelFree = false;
  readonly #forgetModel: () => void;
  /** Called when the host is being freed. */
  #whenFreeing = (): void => {};
  /** Whether a run waits for the host, not for the page. */
  #isStepping = false;
  #freeing: Promise<void> | undefined;
  /** What is being put into the model. */
  #using: Promise<number> | undefined;

  /** @internal */
  constructor(model: WasmModel, host: Host, onWarning?: (warning: TrainingWarning) => void) {
    knowItself(this);
    this.#model = model;
    this.#host = host;
    this.#unfinished = host.facts.unfinished;
    this.#onWarning = onWarning ?? (({ message }) => console.warn(`webgguf: ${message}`));
    if (host.facts.warning) this.#onWarning(host.facts.warning);
    this.#forgetModel = model.beforeFree?.(() => this.#leaveModel()) ?? (() => {});
  }

  /** The model is freed: a run ends with an error, and its memory goes first. */
  async #leaveModel(): Promise<void> {
    this.#isModelFree = true;
    const freeing = new Promise<void>((resolve) => (this.#whenFreeing = resolve));
    await this.free();
    if (!this.#freeing) await freeing; // after the step that is under way
    await this.#freeing;
  }

  /** The kinds of weights that are trained, such as `attn_q`. */
  get targets(): readonly string[] {
    return this.#host.facts.targets;
  }

  /** All kinds of weights of the model that adapters can change. */
  get kinds(): readonly string[] {
    return this.#host.facts.kinds;
  }

  /** How many numbers are learned. */
  get parameters(): number {
    return this.#host.facts.parameters;
  }

  /** Options that decide what is learned, complete; of a training that was resumed, its own. */
  get options(): Recipe {
    return this.#host.facts.recipe;
  }

  /** How far a run is that was interrupted and can go on; `undefined` where there is none. */
  get unfinished(): Unfinished | undefined {
    return this.#unfinished;
  }

  /** The number of the adapter in the model that the last {@link Trainer.use} gave. */
  get adapterId(): number | undefined {
    return this.#adapter;
  }

  /**
   * Learns from examples, step by step: each step of the loop computes one. Leaving the loop ends the run after the
   * step that is under way, and so do {@link Trainer.stop} and `signal`; what was learned stays.
   *
   * @param examples texts and conversations, see {@link Example}
   * @param options see {@link RunOptions}
   * @throws {WebggufError} here: `invalid_argument` for wrong options, while another run is on, and after `free`;
   *   `context_full` for sequences that are longer than the model's context. From the iteration: `invalid_argument` for
   *   examples that teach nothing, for a loss that is no finite number (the adapter is then the last one whose loss was
   *   finite), and for other examples or options than those of the interrupted run; `out_of_memory`; `device_lost`
   *   where the model cannot be loaded again; `worker_lost`
   * @throws the reason of `signal`
   */
  run(examples: readonly Example[], options: RunOptions = {}): AsyncIterableIterator<TrainingStep> {
    const given = runOptions(options);
    this.#use('run');
    if (!Array.isArray(examples)) throw invalidArgument(`run: expected an array of examples, found ${show(examples)}`);
    const recipe = runRecipeOf(given, this.#model.info.contextLength);
    return this.#steps(examples, given, recipe);
  }

  /** Ends the run that is on after the step that is under way; its loop ends without an error. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Puts the adapter as it is now into the model, in the place of the one before. Requests that wait for the model with
   * that one fail.
   *
   * @returns its number for the option `adapters` of `generate`
   * @throws {WebggufError} `out_of_memory`, `device_lost`, `worker_lost`, `invalid_argument` after `free`
   *
   * @example
   * const { text } = await model.generate('Hello', { adapters: [{ id: await t.use() }] });
   */
  async use(): Promise<number> {
    // One after the other: each removes the one before.
    const put = async (): Promise<number> => {
      const file = await this.adapter();
      const before = this.#adapter;
      this.#adapter = await this.#model.addAdapter(file);
      // The page may have removed it.
      if (before !== undefined) await this.#model.removeAdapter(before).catch(() => {});
      return this.#adapter;
    };
    this.#using = this.#using?.then(put, put) ?? put();
    return this.#using;
  }

  /**
   * The adapter as it is now: a GGUF file, which `addAdapter` and llama.cpp load.
   *
   * @throws {WebggufError} `device_lost`, `worker_lost`, `out_of_memory`, `invalid_argument` after `free`
   */
  async adapter(options: AdapterFileOptions = {}): Promise<Blob> {
    const dtype = fileType(options);
    this.#use('adapter');
    return this.#kept(() => this.#host.file(dtype));
  }

  /**
   * Keeps the training in the origin's private file system, with all that it needs to go on:
   * `trainer(model, { resume: name })`. A run with a name does this by itself.
   *
   * @param name Default: the name of the training
   * @throws {WebggufError} `limit_exceeded` where the browser gives no more space; `feature_missing` where there is no
   *   private file system; `invalid_argument` without a name, and where another trainer has it
   */
  async save(name?: string): Promise<void> {
    this.#use('save');
    if (name !== undefined && (typeof name !== 'string' || name === '')) {
      throw invalidArgument(`save: expected a non-empty name, found ${show(name)}`);
    }
    await this.#kept(() => this.#host.save(name));
  }

  /** Ends a run, and frees the memory of training; the model stays, with the adapter of {@link Trainer.use}. */
  async free(): Promise<void> {
    this.stop();
    this.#isFree = true;
    // A step that is under way ends first, and its loop frees. A loop that waits for its page may never go on.
    if (!this.#isStepping) await this.#freeHost();
  }

  async #freeHost(): Promise<void> {
    const end = async (): Promise<void> => {
      if (this.#isRunning) await this.#host.interrupt().catch(() => {}); // which keeps it; what fails there is lost
      await this.#host.free();
    };
    this.#forgetModel();
    this.#freeing ??= end();
    this.#whenFreeing();
    return this.#freeing;
  }

  /** `await using t = …` frees it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.free();
  }

  async *#steps(
    examples: readonly Example[],
    options: RunOptions,
    recipe: ReturnType<typeof runRecipeOf>,
  ): AsyncGenerator<TrainingStep, undefined, undefined> {
    this.#use('run');
    if (this.#isRunning) throw invalidArgument('run: another run is on');
    const { signal, resume, saveEvery = 30, heldOut: _, ...given } = options;
    this.#isRunning = true;
    this.#isStepping = true;
    this.#isStopped = false;
    try {
      signal?.throwIfAborted();
      const data = await dataOf(this.#model, examples, options, {
        ...{ length: recipe.length, seed: this.options.seed },
        packs: await this.#host.packs(recipe.length),
        warn: this.#onWarning,
      });
      await this.#kept(() => this.#host.begin({ data, recipe, given, resume, saveEvery: 1000 * saveEvery }));
      yield* this.#each(signal);
      signal?.throwIfAborted();
    } finally {
      this.#isStepping = false;
      if (this.#isFree) await this.#freeHost();
      this.#isRunning = false;
    }
  }

  /** The steps of the run that was begun. */
  async *#each(signal: AbortSignal | undefined): AsyncGenerator<TrainingStep, undefined, undefined> {
    let isOver = false;
    try {
      while (!this.#isStopped && !signal?.aborted) {
        const outcome = await this.#kept(() => this.#host.step());
        if (!outcome) break;
        if (outcome.warning) this.#onWarning(outcome.warning);
        this.#isStepping = false;
        if (this.#isFree) await this.#freeHost(); // the page may never ask for another step
        yield outcome.step;
        this.#isStepping = !this.#isFree;
      }
      if (this.#isModelFree) throw modelFreed('run');
    } catch (error) {
      isOver = true;
      throw error;
    } finally {
      this.#unfinished = isOver || this.#freeing ? undefined : await this.#kept(() => this.#host.interrupt());
    }
  }

  /** Does `work`. Where the device is lost, the model is loaded again, and training goes on from the last copy. */
  async #kept<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WebggufError) || error.code !== 'device_lost') throw error;
      // A request of any kind loads the model again, or says why that is not possible.
      await this.#model.evaluate([0]);
      await this.#host.recover();
      this.#onWarning({ code: 'device_lost', message: 'the GPU device was lost; training goes on from the last copy' });
      return work();
    }
  }

  #use(call: string): void {
    if (this.#isModelFree) throw modelFreed(call);
    if (this.#isFree) throw invalidArgument(`${call}: the trainer was freed`);
  }
}
throughProxies(Trainer);

function modelFreed(call: string): WebggufError {
  return invalidArgument(`${call}: the model was freed`);
}
