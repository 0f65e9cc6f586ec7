/**
 * The options of each public call, with the check of each.
 */
import {
  abortSignal,
  type Check,
  checked,
  FLAG,
  integer,
  MOST_TOKENS,
  NAME,
  number,
  ofType,
  oneOf,
  show,
  targetWith,
} from './check.js';
import { invalidArgument } from './errors.js';
import { checkBreakers, checkSampling, SAMPLING_ROWS, type SamplingOptions } from './sampling.js';
import type { ChatTemplateOptions, SessionOptions } from './types/chat.js';
import type { GenerateOptions, Grammar } from './types/generate.js';
import type { InspectOptions, AdapterOptions, LoadOptions, TokenizerOptions } from './types/load.js';
import type { EmbedOptions, EvaluateOptions, RankOptions } from './types/read.js';
import type { SourceOptions } from './types/source.js';

type GrammarKind = Grammar extends infer G ? (G extends G ? keyof G : never) : never;

const stopStrings: Check = (value) => {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every((item) => typeof item === 'string' && item !== '') ? undefined : 'a non-empty string or some';
};

const TOKENS = integer(1, MOST_TOKENS, 'an integer of at least 1');

/** By shape, so that who loads models alone needs no tensors. */
const gpu: Check = (value) =>
  typeof value === 'object' && value !== null && 'engine' in value ? undefined : 'a Gpu, as Gpu.create() makes it';

const PER_LAYER: Check = (value) =>
  oneOf('auto', 'gpu', 'host')(value) && TOKENS(value) && "'auto' or 'gpu' or 'host' or an integer of at least 1";
const isDigest = (value: unknown): boolean => typeof value === 'string' && /^[\da-f]{64}$/i.test(value);

const digest: Check = (value) =>
  [value].flat().every(isDigest) ? undefined : '64 hexadecimal digits, or a list of such digests';

/** What a header can carry. */
const TOKEN: Check = (value) =>
  typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) ? undefined : 'an access token of visible ASCII characters';

const address: Check = (value) =>
  typeof value === 'string' && /^https?:\/\/./.test(value) ? undefined : 'an address that begins with https://';

const cacheMode: Check = (value) =>
  typeof value === 'boolean' || value === 'revalidate' ? undefined : "true, false or 'revalidate'";

const FOUND = {
  cacheKey: NAME,
  hub: address,
  token: TOKEN,
  retries: integer(0, 100, 'an integer from 0 to 100'),
  stallTimeout: number(1, 2 ** 31 - 1, 'a number of milliseconds from 1 to 2^31 - 1'),
  maxBytes: integer(1, Number.MAX_SAFE_INTEGER, 'a number of bytes, an integer of at least 1'),
};

const SOURCE: Record<keyof SourceOptions, Check> = {
  ...FOUND,
  connections: (value) => oneOf('auto')(value) && integer(1, 8, "an integer from 1 to 8, or 'auto'")(value),
  download: targetWith('paused', 'a DownloadControl'),
  cacheLimit: integer(1, Number.MAX_SAFE_INTEGER, 'a number of bytes, an integer of at least 1'),
  cache: cacheMode,
  sha256: digest,
  onWarning: ofType('function', 'a function'),
};

const isPlace = (value: unknown): boolean => typeof value === 'string' || (typeof value === 'object' && value !== null);

const isFileBeside: Check = (value) =>
  value === true || isPlace(value) ? undefined : 'true, or where the file beside the model comes from';

const LOAD: Record<keyof LoadOptions, Check> = {
  ...SOURCE,
  onProgress: ofType('function', 'a function'),
  signal: abortSignal,
  contextLength: integer(2, MOST_TOKENS, 'an integer of at least 2'),
  backend: oneOf('auto', 'webgpu', 'cpu'),
  precision: oneOf('auto', 'exact', 'fast'),
  kvType: oneOf('f16', 'q8_0', 'q4_0'),
  parallel: integer(1, 8, 'an integer from 1 to 8'),
  idleTimeout: number(1, 2 ** 31 - 1, 'a number of milliseconds from 1 to 2^31 - 1'),
  prefixCache: (value) => {
    const { memoryBytes, diskBytes, ...others } = (value ?? {}) as Record<string, unknown>;
    const isCount = (bytes: unknown, least: number): boolean => Number.isSafeInteger(bytes) && Number(bytes) >= least;
    const fits = isCount(memoryBytes ?? 0, 0) && isCount(diskBytes ?? 1, 1) && Object.keys(others).length === 0;
    if (value === false || (typeof value === 'object' && fits)) return undefined;
    return 'false, or { memoryBytes, diskBytes } with numbers of bytes, integers of at least 0 and 1';
  },
  threads: integer(1, 64, 'an integer from 1 to 64'),
  pooling: oneOf('mean', 'cls', 'last'),
  mmproj: isFileBeside,
  vocoder: isFileBeside,
  draft: (value) => (value === false || isPlace(value) ? undefined : 'where a smaller model comes from, or false'),
  keepEncoder: FLAG,
  maxImageTokens: TOKENS,
  resize: oneOf('pad', 'stretch'),
  perLayerEmbeddings: PER_LAYER,
  gpu,
  worker: FLAG,
  shared: FLAG,
  adapters: (value) => {
    const fits = (of: Given): boolean => has(of, 'source', 'scale', 'config') && of?.source !== undefined;
    const words = 'an array of { source, scale, config } with finite scales';
    return Array.isArray(value) && value.every(fits) ? undefined : words;
  },
  selfCheck: FLAG,
  tune: (value) => FLAG(value) && oneOf('quick')(value) && "true, false or 'quick'",
};

const INSPECT: Record<keyof InspectOptions, Check> = {
  ...FOUND,
  backend: LOAD.backend,
  contextLength: LOAD.contextLength,
  kvType: LOAD.kvType,
  parallel: LOAD.parallel,
  perLayerEmbeddings: PER_LAYER,
  mmproj: LOAD.mmproj,
  memoryBytes: (value) => (Number(value) > 0 && typeof value === 'number' ? undefined : 'a positive number of bytes'),
  draft: LOAD.draft,
  signal: abortSignal,
};

const TOKENIZER: Record<keyof TokenizerOptions, Check> = { ...FOUND, signal: abortSignal };

function grammar(value: unknown): string | undefined {
  const kinds = Object.keys(GRAMMARS) as GrammarKind[];
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const [kind] = keys.filter((key) => kinds.includes(key as GrammarKind)) as GrammarKind[];
  if (!kind || keys.length !== 1) return `an object with one of ${kinds.join(', ')}`;
  const expected = GRAMMARS[kind]((value as Record<string, unknown>)[kind]);
  return expected && `{ ${kind} } with ${expected}`;
}

const logitBias: Check = (value) => {
  const words = 'an object of at most 1024 token ids, each with a number from -100 to 100';
  if (typeof value !== 'object' || value === null) return words;
  const entries = Object.entries(value);
  const fits = ([id, bias]: [string, unknown]): boolean =>
    /^(0|[1-9]\d*)$/.test(id) && typeof bias === 'number' && bias >= -100 && bias <= 100;
  return entries.length <= 1024 && entries.every(fits) ? undefined : words;
};

const SAMPLING_CHECKS = Object.fromEntries(
  SAMPLING_ROWS.map(([name, row]): [string, Check] => [name, (value) => checkSampling(row, value)]),
) as Record<keyof SamplingOptions, Check>;

type Given = Record<string, unknown> | null;

/** Whether an adapter has these parts alone, and a scale that is a number where it has one. */
const has = (of: Given, ...parts: string[]): boolean =>
  Object.keys(of ?? {}).every((part) => parts.includes(part)) && (of?.scale === undefined || Number.isFinite(of.scale));

const ADAPTERS: Check = (value) => {
  const fits = (use: Given): boolean => has(use, 'id', 'scale') && Number.isInteger(use?.id);
  return Array.isArray(value) && value.every(fits) ? undefined : 'an array of { id, scale } with finite scales';
};

/** @internal */
export const GENERATE: Record<keyof GenerateOptions, Check> = {
  onProgress: LOAD.onProgress,
  maxTokens: TOKENS,
  reasoningBudget: integer(0, MOST_TOKENS, 'an integer of at least 0'),
  ...SAMPLING_CHECKS,
  drySequenceBreakers: checkBreakers,
  stop: stopStrings,
  ignoreEos: FLAG,
  parseSpecial: FLAG,
  prefixCache: FLAG,
  enableThinking: FLAG,
  showSpecial: (value) =>
    Array.isArray(value) && value.every((item) => typeof item === 'string') ? undefined : 'an array of strings',
  grammar,
  logitBias,
  logprobs: integer(0, 20, 'an integer from 0 to 20'),
  draft: (value) =>
    value === false ? undefined : oneOf('prompt', 'model', 'mtp')(value) && "'prompt', 'model', 'mtp' or false",
  prediction: ofType('string', 'a string'),
  adapters: ADAPTERS,
  signal: abortSignal,
};

const GRAMMARS: Record<GrammarKind, Check> = {
  jsonSchema: (value) =>
    value !== null && ['object', 'string', 'boolean', 'function'].includes(typeof value)
      ? undefined
      : 'a JSON Schema, as an object or its text',
  json: (value) => (value === true ? undefined : 'true'),
  regex: ofType('string', 'a string'),
  choice: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
      ? undefined
      : 'an array of at least one string',
  lark: ofType('string', 'a string'),
  gbnf: ofType('string', 'a string'),
};

const RANK: Record<keyof RankOptions, Check> = { truncate: FLAG, onProgress: LOAD.onProgress, signal: abortSignal };

const EVALUATE: Record<keyof EvaluateOptions, Check> = { logits: FLAG, adapters: ADAPTERS, signal: abortSignal };

/** A checked copy of the options of `evaluate`. @internal */
export function evaluateOptions(options: EvaluateOptions): EvaluateOptions {
  return checked('evaluate', options, EVALUATE);
}

const EMBED: Record<keyof EmbedOptions, Check> = {
  ...RANK,
  task: ofType('string', 'a string'),
  normalize: FLAG,
  dimensions: TOKENS,
};

/** A checked copy of the options of `embed`. @internal */
export function embedOptions(options: EmbedOptions): EmbedOptions {
  return checked('embed', options, EMBED);
}

/** A checked copy of the options of `rank`. @internal */
export function rankOptions(options: RankOptions): RankOptions {
  return checked('rank', options, RANK);
}

/** A checked copy of the options of `load`. @internal */
export function loadOptions(options: LoadOptions): LoadOptions {
  return checked('load', options, LOAD);
}

/** A checked copy of the options of `addAdapter`. @internal */
export function adapterOptions(options: AdapterOptions): AdapterOptions {
  return checked('addAdapter', options, { ...SOURCE, signal: abortSignal, config: () => undefined });
}

/** How the adapters of a model are read: as the model, but for what names its own file. @internal */
export function adapterSource(options: LoadOptions): AdapterOptions {
  const { cacheKey: _key, sha256: _digest, ...source } = splitSourceOptions(options).source;
  return { ...source, signal: options.signal };
}

/** A checked copy of the options of `inspect`. @internal */
export function inspectOptions(options: InspectOptions): InspectOptions {
  return checked('inspect', options, INSPECT);
}

/** A checked copy of the options of `Tokenizer.load`. @internal */
export function tokenizerOptions(options: TokenizerOptions): TokenizerOptions {
  return checked('Tokenizer.load', options, TOKENIZER);
}

/** Parts the options that say where the bytes come from from the others. @internal */
export function splitSourceOptions<T extends SourceOptions>(
  options: T,
): { source: SourceOptions; rest: Omit<T, keyof SourceOptions> } {
  const isSource = ([name]: [string, unknown]): boolean => Object.hasOwn(SOURCE, name);
  const entries = Object.entries(options);
  const rest = Object.fromEntries(entries.filter((entry) => !isSource(entry)));
  return { source: Object.fromEntries(entries.filter(isSource)), rest: rest as Omit<T, keyof SourceOptions> };
}

/** A checked copy of the options of `generate`. @internal */
export function generateOptions(options: GenerateOptions): GenerateOptions {
  return checked('generate', options, GENERATE);
}

/** A checked copy of options that are all true or false. @internal */
export function flagOptions<T extends object>(call: string, options: T, names: readonly (keyof T & string)[]): T {
  return checked(call, options, Object.fromEntries(names.map((name) => [name, FLAG])));
}

const TEMPLATE: Record<keyof ChatTemplateOptions, Check> = {
  addGenerationPrompt: FLAG,
  parseSpecial: FLAG,
  enableThinking: FLAG,
  tools: (value) => (Array.isArray(value) ? undefined : 'an array of tools'),
  chatTemplateKwargs: ofType('object', 'an object'),
};

const SESSION: Record<keyof SessionOptions, Check> = {
  system: ofType('string', 'a string'),
  messages: (value) => (Array.isArray(value) ? undefined : 'an array of messages'),
  overflow: oneOf('truncate', 'error'),
  enableThinking: TEMPLATE.enableThinking,
  tools: TEMPLATE.tools,
  chatTemplateKwargs: TEMPLATE.chatTemplateKwargs,
  parseSpecial: FLAG,
};

/** A checked copy of the options of `session`. @internal */
export function sessionOptions(options: SessionOptions): SessionOptions {
  return checked('session', options, SESSION);
}

/** A checked copy of the options of `applyChatTemplate`. @internal */
export function templateOptions(call: string, options: ChatTemplateOptions): ChatTemplateOptions {
  return checked(call, options, TEMPLATE);
}

/** Refuses what is neither text, messages nor ids, and says what to write instead. @internal */
export function checkPrompt(prompt: unknown): void {
  if (typeof prompt === 'string' || prompt instanceof Uint32Array) return;
  if (Array.isArray(prompt) && prompt.length > 0 && typeof prompt[0] !== 'string') return;
  throw invalidArgument(`generate: expected text, an array of messages or token ids, ${instead(prompt)}`);
}

function instead(prompt: unknown): string {
  const conversation = "for a conversation write generate([{ role: 'user', content: 'Hi!' }])";
  if (Array.isArray(prompt)) {
    if (prompt.length === 0) return `found an empty array; ${conversation}`;
    return `found an array of strings; for a text write generate('…'), ${conversation}`;
  }
  if (typeof prompt !== 'object' || prompt === null) return `found ${show(prompt)}`;
  if ('role' in prompt) return 'found one message; put it into an array: generate([message])';
  if ('messages' in prompt) return 'found an object with messages; write generate(messages, options)';
  if ('prompt' in prompt) return 'found an object with a prompt; write generate(prompt, options)';
  return `found ${show(prompt)}`;
}

/** Refuses what is no `Gpu`. @internal */
export function checkGpu(call: string, value: unknown): void {
  const expected = gpu(value);
  if (expected) throw invalidArgument(`${call}: expected ${expected}, found ${show(value)}`);
}
