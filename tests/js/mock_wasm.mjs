// A stand-in for the WebAssembly, so that the TypeScript is tested for itself. It keeps the contract of
// js/wasm/webgguf.d.ts: pulls its sources, refuses to be used twice at once, counts what was freed.

export { calls, TensorEngine } from './mock_tensors.mjs';

export const seen = {};

/** What the next calls do; tests set and `reset` it. `lost`: the device is, until a model recovers. */
export const plan = {};

export function resetMock() {
  Object.assign(seen, {
    freed: 0,
    loads: [],
    rare: [],
    device: [],
    started: [],
    handles: [],
    saved: [],
    restored: [],
    finished: 0,
    reads: 0,
    embeds: [],
    others: [],
    adapters: [],
    drafts: 0,
    templates: [],
    recovered: 0,
    nexts: 0,
    running: 0,
    most: 0,
    cut: 0,
  });
  for (const key of Object.keys(plan)) delete plan[key];
}

resetMock();

const codeError = (code, message) => Object.assign(new Error(message), { code });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default async function init({ module_or_path: input }) {
  plan.initInput = await input;
  return {};
}

/** The mock has all parts. */
export async function linkPart() {}

function loseDevice() {
  const wasLost = plan.lost;
  if (wasLost === 'loading') plan.lost = false;
  if (wasLost) throw codeError('device_lost', 'gone');
}

async function pull(sources, onBytes) {
  const parts = [];
  for (const source of sources) {
    const pieces = [];
    for (let piece = await source.next(); piece; piece = await source.next()) {
      if (piece.length === 0) throw new Error('an empty piece');
      pieces.push(Buffer.from(piece));
      seen.reads += 1;
      onBytes(piece.length);
    }
    parts.push(Buffer.concat(pieces));
  }
  return parts;
}

export async function inspect(sources, { fetch: _, ...options }) {
  if (seen.inspect) return seen.inspect(sources, options);
  seen.inspected = { count: sources.length, options };
  await sources[0].next();
  return { supported: true, fileBytes: 1, tensors: [] };
}

export class WasmModel {
  #borrowed = false;
  #listener;
  #stopped = false;
  #left = 0;
  #ids = [];
  #prompt = 0;
  #reason = 'length';
  #logprobs = false;
  #running = false;
  #known = [];
  #with = '[]';

  static async load(sources, { fetch, ...options }, onProgress, device) {
    const total = sources.reduce((sum, { size }) => sum + (size ?? NaN), 0) || 0;
    let loaded = 0;
    const parts = await pull(sources, (bytes) => onProgress('download', (loaded += bytes), total));
    if (plan.loadFails) throw plan.loadFails;
    if (plan.isRare) await fetch('rare');
    if (plan.isOfDevice) await fetch('device');
    if (plan.lost === 'loading') loseDevice();
    for (let i = 1; i <= 4; i += 1) {
      await sleep(plan.compileMs ?? 0);
      await plan.compiling;
      if (!plan.deaf) onProgress('compile', i, 4);
    }
    if (plan.backend) onProgress('ready', 1, 1);
    seen.loads.push({ parts, options, device });
    return new WasmModel();
  }

  device() {
    return 'device of model';
  }

  useDraft() {
    if (plan.draftFails) throw plan.draftFails;
    seen.drafts += 1;
  }

  async recover(fresh) {
    if (fresh.used) throw new Error('null pointer passed to rust');
    fresh.used = true;
    seen.recovered += 1;
    plan.lost = false;
  }

  async hiddenStates(ids, tensors) {
    this.#stopped = false;
    return this.#alone(async () => {
      await plan.reading?.();
      if (this.#stopped) {
        seen.cut += 1;
        return undefined;
      }
      return tensors.upload(new Uint8Array(ids.length * 8), 'f32', [ids.length, 2]);
    });
  }

  /** A call that has the engine for itself, as wasm-bindgen has it. */
  async #alone(work) {
    if (this.#borrowed) throw new Error('recursive use of an object');
    this.#borrowed = true;
    try {
      return await work();
    } finally {
      this.#borrowed = false;
    }
  }

  info() {
    return {
      architecture: 'llama',
      quantization: 'Q8_0',
      parameters: 4,
      layers: 1,
      contextLength: plan.window ?? 64,
      vocabularySize: plan.vocabularySize ?? 128,
      hasChatTemplate: true,
      chatTemplate: plan.template,
      backend: plan.backend ?? 'cpu',
      adapter: '',
      features: [],
      gpuBytes: 0,
      prefixCacheBytes: 0,
      variants: [],
      ...(plan.parallel && { parallel: plan.parallel }),
      selfCheck: { verdict: 'skipped', replaced: [], wrong: [], checked: 0, milliseconds: 0 },
      warnings: [],
    };
  }

  tokenize(text, addSpecial) {
    return Uint32Array.from([...(addSpecial ? [1] : []), ...[...text].map((c) => c.charCodeAt(0))]);
  }

  detokenize(ids) {
    return String.fromCharCode(...ids);
  }

  chatTemplate() {
    return { source: plan.template };
  }

  protect(text) {
    return text;
  }

  encodePrompt(text) {
    return this.tokenize(text, !text.startsWith('\u0001'));
  }

  encodeInput(text, truncate) {
    const ids = this.tokenize(text, true);
    return truncate ? ids.slice(0, 64) : ids;
  }

  encodePair(query, document, truncate) {
    const ids = Uint32Array.from([...this.tokenize(query, true), 0, ...this.tokenize(document)]);
    return truncate ? ids.slice(0, 64) : ids;
  }

  /** Gives the number of ids of each input, and their sum. */
  async embed(ids, lengths, normalize, dimensions = 2) {
    return this.#alone(async () => {
      loseDevice();
      seen.embeds.push({ ids: [...ids], lengths: [...lengths], normalize, dimensions });
      if (lengths.some((length) => length > 64)) throw codeError('context_full', 'input 0 is too long');
      this.#stopped = false;
      await sleep(plan.embedMs ?? 0);
      if (this.#stopped) return undefined;
      let at = 0;
      const sums = [...lengths].map((length) => ids.slice(at, (at += length)).reduce((sum, id) => sum + id, 0));
      return Float32Array.from([...lengths].flatMap((length, i) => [length, sums[i]].slice(0, dimensions)));
    });
  }

  async rank(ids, lengths) {
    return this.embed(ids, lengths, false, 1);
  }

  /** Texts follow no grammar here: `plan.writes` is written. */
  constrain(matcher) {
    seen.constrained = matcher;
  }

  start(ids, options, listener) {
    if (this.#borrowed) throw new Error('recursive use of an object');
    if (ids.length > (plan.contextLength ?? 64))
      throw codeError('context_full', `prompt of ${ids.length} tokens, context of 64`);
    seen.started.push({ ids: [...ids], options });
    seen.handles.push(this);
    this.#stopped = false;
    this.#left = Math.min(options.maxTokens ?? 5e9, plan.writes?.length ?? options.maxTokens ?? 5);
    this.#reason = this.#left === plan.writes?.length ? 'stop' : 'length';
    this.#logprobs = options.logprobs !== undefined;
    this.#prompt = ids.length;
    [this.#known, this.#with] = [[...ids], JSON.stringify(options.adapters ?? [])];
    this.#ids = [];
    seen.running += this.#running ? 0 : 1;
    this.#running = true;
    seen.most = Math.max(seen.most, seen.running);
    this.#listener = listener;
    return { promptTokens: ids.length, cachedTokens: 0 };
  }

  next() {
    return this.#alone(async () => {
      seen.nexts += 1;
      this.#listener?.(this.#prompt);
      await sleep(plan.tokenMs ?? 1);
      if (plan.nextFails) throw plan.nextFails;
      if (plan.loseAt === this.#ids.length) {
        plan.loseAt = undefined;
        plan.lost = true;
      }
      if (!this.#stopped) loseDevice();
      if (this.#left === 0 || this.#stopped) return undefined;
      this.#left -= 1;
      const id = plan.writes ? plan.writes.charCodeAt(this.#ids.length) : 97 + this.#ids.length;
      this.#ids.push(id);
      const text = String.fromCharCode(id);
      const token = { id, text, bytes: Uint8Array.of(id), logprob: -0.5 };
      return { ids: Uint32Array.of(id), text, ...(this.#logprobs && { tokens: [{ ...token, top: [token] }] }) };
    });
  }

  finish() {
    return this.#alone(async () => {
      seen.finished += 1;
      seen.running -= this.#running ? 1 : 0;
      this.#running = false;
      this.#known.push(...this.#ids);
      const ids = Uint32Array.from(this.#ids);
      const finishReason = this.#left === 0 ? this.#reason : 'abort';
      this.#left = 0;
      return {
        text: String.fromCharCode(...ids),
        ids,
        finishReason,
        usage: {
          promptTokens: this.#prompt,
          completionTokens: ids.length,
          cachedTokens: 0,
          totalTokens: this.#prompt + ids.length,
          acceptedDraftTokens: plan.accepted ?? 0,
          rejectedDraftTokens: plan.rejected ?? 0,
        },
        timings: { promptTokensPerSecond: 100, tokensPerSecond: 10, timeToFirstTokenMs: 20 },
      };
    });
  }

  cancel() {
    this.#stopped = true;
  }

  evaluate(ids, logits) {
    this.#stopped = false;
    return this.#alone(async () => {
      await sleep(plan.tokenMs ?? 1);
      await plan.reading?.();
      if (this.#stopped) {
        seen.cut += 1;
        return undefined;
      }
      loseDevice();
      if (ids.length > 64) throw codeError('context_full', `${ids.length} tokens to evaluate, the context holds 64`);
      return {
        top1: new Uint32Array(ids.length),
        logprobs: new Float32Array(ids.length - 1),
        ...(logits && { logits }),
      };
    });
  }

  async addAdapter(id, file) {
    if (plan.adapterFails) throw plan.adapterFails;
    seen.adapters.push({ id, file: [...file] });
  }

  removeAdapter(id) {
    return seen.adapters.some((adapter) => adapter.id === id);
  }

  async another(withCache, tokens) {
    loseDevice();
    if (seen.others.length === plan.failsAt) throw codeError('out_of_memory', 'no lane');
    seen.others.push(tokens > 0 ? tokens : withCache);
    return new WasmModel();
  }

  /** `M`, the number of parts as a digit, the notes; then parts of three bytes, the last of two. */
  async saveHead(notes, text) {
    if (this.#borrowed) throw new Error('recursive use of an object');
    seen.saved.push({ by: this, text: text && [...text] });
    return new TextEncoder().encode(`M${plan.parts ?? 2}${notes}`);
  }

  readPart(number) {
    return this.#alone(async () => {
      await sleep(1);
      loseDevice();
      if (plan.saveFails) throw plan.saveFails;
      const last = (plan.parts ?? 2) - 1;
      return number <= last ? new Uint8Array(number < last ? 3 : 2).fill(number) : undefined;
    });
  }

  checkSaved(start, size) {
    if (start[0] !== 77) throw codeError('bad_file', 'this is no saved session');
    const parts = start[1] - 48;
    return Uint32Array.of(parts > 0 ? size - 3 * parts + 1 : size, 7);
  }

  async restoreHead(head) {
    seen.parts = [];
    seen.restored.push(this);
    return [new TextDecoder().decode(head.subarray(2)), plan.otherLayout ? 0 : 3];
  }

  async writePart(number, part) {
    loseDevice();
    if (plan.writeFails) throw plan.writeFails;
    seen.parts.push([number, ...part]);
  }

  async adopt() {}

  prefixes() {
    return plan.prefixes && Uint32Array.from(plan.prefixes);
  }

  commonPrefix(ids, adapters = []) {
    if (this.#running) throw new Error('its caches are in use');
    if (JSON.stringify(adapters) !== this.#with) return 0;
    const other = ids.findIndex((id, i) => id !== this.#known[i]);
    return other < 0 ? ids.length : other;
  }

  reset() {}
  wasmMemoryBytes() {
    return 65536;
  }

  free() {
    if (this.#borrowed) throw new Error('attempted to free while borrowed');
    seen.freed += 1;
  }
}

/** Takes the shaders that few models need. */
export function giveRare(shaders, grids) {
  seen.rare.push({ shaders, grids });
}

/** Takes the shaders that few devices need. */
export function giveDevice(shaders) {
  seen.device.push(shaders);
}

/** No test over the mock loads an encoder. */
export class CpuThread {}

export class WasmEncoder {}

export class VocabularyHandle {
  static async load(sources) {
    seen.loads.push({ first: Buffer.from(await sources[0].next()), count: sources.length });
    return new VocabularyHandle();
  }

  tokenize(text) {
    return Uint32Array.from([...text].map((c) => c.charCodeAt(0)));
  }
  detokenize(ids) {
    return String.fromCharCode(...ids);
  }
  chatTemplate() {
    return { json: true };
  }
  free() {
    seen.freed += 1;
  }
}

/** Stands for `writeConversation` of js/templates/. */
export function writeConversation({ json }, { messages, tools, variables, media }) {
  if (json) return JSON.stringify(messages);
  seen.templates.push({ messages, tools, variables, media });
  if (plan.templateFails) throw codeError('invalid_argument', 'the file has no chat template');
  return messages.map(({ role, content }) => `<${role}>${content}`).join('');
}
