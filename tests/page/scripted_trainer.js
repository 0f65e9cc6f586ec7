// Stands in for dist/index.js and dist/training/index.js in tests of train.html that are about the page: the real
// storyteller on the CPU that says it runs on the GPU, and a trainer that does what `globalThis.script` says.

export { cache } from './load/cache/cache.js';
export { encodeExamples } from './training/language/examples.js';
export { readExamples } from './training/language/read.js';
import { WebggufError } from './errors.js';
import { WasmModel as Real } from './model/model.js';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class WasmModel {
  #real;

  static async load(source, options) {
    const model = new WasmModel();
    model.#real = await Real.load(source, { ...options, backend: 'cpu', worker: false });
    model.info = { ...model.#real.info, backend: 'webgpu', gpuBytes: 2.7e7, ...globalThis.scriptedInfo };
    return model;
  }

  static {
    for (const name of ['tokenize', 'detokenize', 'applyChatTemplate', 'free']) {
      WasmModel.prototype[name] = function (...given) {
        return this.#real[name](...given);
      };
    }
  }

  generate(content, { adapters, ...options }) {
    globalThis.asked ??= [];
    globalThis.asked.push({ content, adapters });
    const learned = adapters.length > 0;
    if (learned && globalThis.script?.mute) throw new WebggufError('bad_file', 'every logit of a token is NaN');
    const text = learned ? 'The hero was named Quillo.' : undefined;
    return text ? [{ text }] : this.#real.generate(content, { ...options, maxTokens: 8 });
  }

  async addAdapter(file) {
    if ((await file.text()).startsWith('GGUF')) return 7;
    throw new WebggufError('bad_file', 'adapter.gguf is no GGUF file: it begins with another word');
  }

  async removeAdapter(id) {
    globalThis.removed = [...(globalThis.removed ?? []), id];
  }
}

/** Trainings that are kept, by name: here in the storage of the tab's site. */
const NAME = 'scripted trainings';
const keptOnes = () => JSON.parse(localStorage.getItem(NAME) ?? '{}');
const keepOnes = (all) => localStorage.setItem(NAME, JSON.stringify(all));

export const savedTrainings = async () =>
  Object.entries(keptOnes()).map(([name, { saved, ...rest }]) => ({ name, ...rest, saved: new Date(saved) }));

export async function deleteTraining(name) {
  const { [name]: found, ...others } = keptOnes();
  keepOnes(others);
  return found !== undefined;
}

/**
 * `globalThis.script`: `steps`; `wait` ms between them; `refuses`, an error at once; `failsAt`, a step, with `fails`,
 * the code of its error, once; `full`: nothing can be kept; `mute`: with an adapter the model writes nothing. A
 * training is kept after each fifth step, and when it ends.
 */
export async function trainer(_model, options) {
  const { steps = 12, wait = 5, refuses, failsAt, fails = 'invalid_argument', full } = globalThis.script ?? {};
  globalThis.trained = { options, freed: false };
  globalThis.trainings = [...(globalThis.trainings ?? []), globalThis.trained];
  if (refuses) throw new WebggufError(...refuses);
  let stopped = false;
  let done = options.resume ? keptOnes()[options.resume].step : 0;
  const save = async (all = steps) => {
    if (full) throw new WebggufError('limit_exceeded', 'the training is not kept: no room');
    const own = { step: done, steps: all, loss: 1, saved: Date.now() };
    keepOnes({ ...keptOnes(), [options.resume ?? options.name]: own });
  };
  return {
    parameters: 221_184,
    save: () => save(),
    async *run(examples, runOptions) {
      Object.assign(globalThis.trained, { examples, runOptions, from: done });
      for (let step = done + 1; step <= steps && !stopped; step++) {
        await pause(wait);
        if (step === failsAt) {
          globalThis.script.failsAt = undefined;
          if (fails === 'invalid_argument') await save(0); // such a run cannot go on
          throw new WebggufError(fails, `the loss of step ${step} is NaN`);
        }
        const loss = 0.4 + 4 / (1 + step / 3) + 0.25 * Math.sin(7 * step);
        const isLast = step % Math.ceil(steps / 4) === 0 || step === steps;
        const more = isLast && runOptions.heldOut > 0 ? { heldOutLoss: 0.7 + 3.6 / (1 + step / 3) } : {};
        const left = { tokensPerSecond: 812.4, secondsLeft: ((steps - step) * 130) / steps };
        done = step;
        if (step % 5 === 0 && !full) await save();
        yield { step, steps, epoch: Math.ceil((4 * step) / steps), loss, ...more, learningRate: 1e-3, ...left };
      }
      if (!full) await save();
    },
    stop: () => {
      stopped = true;
    },
    use: async () => 3,
    adapter: async () => new Blob(['GGUF', new Uint8Array(884_000)]),
    free: async () => {
      globalThis.trained.freed = true;
    },
  };
}
