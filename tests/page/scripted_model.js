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

  constructor({ text, size = 7, wait = 2 }) {
    Object.assign(this, { text, size, wait });
  }

  async *[Symbol.asyncIterator]() {
    for (let at = 0; at < this.text.length && !this.#cancelled; at += this.size) {
      await pause(this.wait);
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

export class WasmModel {
  info = info;

  static async load(_source, { onProgress }) {
    onProgress({ stage: 'download', loaded: 1, total: 2, fraction: 0.5 });
    await pause(1);
    return new WasmModel();
  }

  generate(prompt) {
    globalThis.prompts ??= [];
    globalThis.prompts.push(prompt);
    const script = globalThis.script ?? {};
    return new Generation({ ...script, text: script.texts?.shift() ?? script.text ?? 'Yes.' });
  }

  async free() {}
}
