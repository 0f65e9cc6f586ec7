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

/** `globalThis.script`: `steps`; `wait` ms between them; `refuses`, an error at once; `failsAt`, a step. */
export async function trainer(_model, options) {
  const { steps = 12, wait = 5, refuses, failsAt } = globalThis.script ?? {};
  globalThis.trained = { options, freed: false };
  if (refuses) throw new WebggufError(...refuses);
  let stopped = false;
  return {
    parameters: 221_184,
    async *run(examples, runOptions) {
      Object.assign(globalThis.trained, { examples, runOptions });
      for (let step = 1; step <= steps && !stopped; step++) {
        await pause(wait);
        if (step === failsAt) throw new WebggufError('invalid_argument', `the loss of step ${step} is NaN`);
        const loss = 0.4 + 4 / (1 + step / 3) + 0.25 * Math.sin(7 * step);
        const isLast = step % Math.ceil(steps / 4) === 0 || step === steps;
        const more = isLast && runOptions.heldOut > 0 ? { heldOutLoss: 0.7 + 3.6 / (1 + step / 3) } : {};
        const left = { tokensPerSecond: 812.4, secondsLeft: ((steps - step) * 130) / steps };
        yield { step, steps, epoch: Math.ceil((4 * step) / steps), loss, ...more, learningRate: 1e-3, ...left };
      }
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
