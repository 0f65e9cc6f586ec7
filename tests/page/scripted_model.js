// Stands in for dist/index.js in tests of the demo page that are about the page: a chat model that writes what
// `globalThis.script` says. `globalThis.prompts` keeps what it was asked.

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const info = {
  name: 'Scripted 1B',
  architecture: 'llama',
  quantization: 'Q4_K',
  parameters: 1.24e9,
  layers: 16,
  contextLength: 4096,
  vocabularySize: 128256,
  hasChatTemplate: true,
  backend: 'webgpu',
  adapter: 'scripted',
  features: ['shader-f16', 'subgroups'],
  gpuBytes: 9.1e8,
  variants: ['mat_vec.q4_k.subgroup'],
};

class Generation {
  #cancelled = false;
  #text = '';
  #over;
  result = new Promise((resolve) => {
    this.#over = resolve;
  });

  constructor({ text, size = 7, wait = 2, holdAt = Infinity }) {
    Object.assign(this, { text, size, wait, holdAt });
  }

  async *[Symbol.asyncIterator]() {
    for (let at = 0; at < this.text.length && !this.#cancelled; at += this.size) {
      await pause(this.wait);
      while (at >= this.holdAt && !globalThis.goesOn) await pause(5);
      const text = this.text.slice(at, at + this.size);
      this.#text += text;
      yield { text, ids: new Uint32Array(2) };
    }
    this.#over({
      text: this.#text,
      finishReason: this.#cancelled ? 'abort' : 'stop',
      usage: { completionTokens: 2 * Math.ceil(this.#text.length / this.size), promptTokens: 12, cachedTokens: 0 },
      timings: { tokensPerSecond: 84.2, timeToFirstTokenMs: 38 },
    });
  }

  async stop() {
    this.#cancelled = true;
    await this.result;
  }
}

/** What the page may ask of stored models; `globalThis.storedModels` is the list. */
export const cache = {
  list: async () => globalThis.storedModels ?? [],
  has: async (key) => (globalThis.storedModels ?? []).some((model) => model.key === key),
  async delete(key) {
    globalThis.storedModels = globalThis.storedModels.filter((model) => model.key !== key);
    return true;
  },
  estimate: async () => ({
    models: (globalThis.storedModels ?? []).reduce((sum, { bytes }) => sum + bytes, 0),
    usage: 5e9,
    quota: 4.5e10,
  }),
  persist: async () => true,
};

/** A conversation: asks the model for its messages so far and the new one. */
class Session {
  constructor(model, { system, messages = [], ...options }) {
    this.model = model;
    this.messages = [...(system ? [{ role: 'system', content: system }] : []), ...messages];
    globalThis.sessions = [...(globalThis.sessions ?? []), { system, ...options }];
  }

  send(input, options) {
    const message = typeof input === 'string' ? { role: 'user', content: input } : input;
    const asked = [...this.messages, message];
    const generation = this.model.generate(asked, options);
    generation.result.then(({ text }) => {
      this.messages = [...asked, { role: 'assistant', content: text }];
    });
    return generation;
  }

  async free() {}
}

/** Nothing is downloaded here. */
export class DownloadControl extends EventTarget {
  paused = false;
}

export class WasmModel {
  info = { ...info, ...globalThis.scriptedInfo };

  /** As templates of models that think: `globalThis.opensThought` ends the prompt within a thought. */
  async applyChatTemplate(_messages, { enableThinking }) {
    return enableThinking && globalThis.opensThought ? '<user>?<assistant><think>\n' : '<user>?<assistant>';
  }

  static async inspect(source) {
    globalThis.inspected = source;
    const gpu = { adapter: 'scripted', weightBytes: 8e8, sessionBytes: 2e8, fits: true };
    return { supported: true, fileBytes: 8e8, gpu };
  }

  session(options) {
    return new Session(this, options);
  }

  static async load(_source, { onProgress }) {
    onProgress({ stage: 'download', loaded: 1, total: 2, fraction: 0.5 });
    await pause(1);
    return new WasmModel();
  }

  generate(prompt, options) {
    globalThis.prompts ??= [];
    globalThis.prompts.push(prompt);
    globalThis.asked = options;
    const script = globalThis.script ?? {};
    return new Generation({ ...script, text: script.texts?.shift() ?? script.text ?? 'Yes.' });
  }

  async prefixCache() {
    return { blocks: 0, tokens: 0, bytes: 0, hits: 0, ...globalThis.scriptedKept };
  }

  async free() {}
}
