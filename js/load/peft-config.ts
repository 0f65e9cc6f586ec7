/**
 * `adapter_config.json` of PEFT (LoraConfig, as of PEFT 0.21): what it asks for is computed, or refused by its name.
 * The file is hostile input.
 */
import { WebggufError } from '../errors.js';

/** How a training went, and other keys that change nothing of what an adapter computes. */
const OTHER_KEYS = new Set(
  (
    'task_type auto_mapping peft_version base_model_name_or_path revision inference_mode lora_dropout layers_pattern ' +
    'megatron_core loftq_config eva_config corda_config lora_ga_config velora_config qalora_group_size ' +
    'runtime_config ensure_weight_tying'
  ).split(' '),
);

/** Keys that are refused where they are set: they change what an adapter computes, or name further tensors. */
const REFUSED_KEYS = new Set(
  (
    'use_dora fan_in_fan_out modules_to_save layer_replication trainable_token_indices target_parameters lora_bias ' +
    'use_qalora arrow_config megatron_config monteclora_config use_bdlora kasa_config'
  ).split(' '),
);

/** Keys that are read. */
const READ_KEYS = new Set(
  (
    'peft_type r lora_alpha use_rslora bias init_lora_weights rank_pattern alpha_pattern target_modules ' +
    'exclude_modules layers_to_transform alora_invocation_tokens'
  ).split(' '),
);

/** Ways to start that leave the weights of the model as they are. Others change them, which an adapter has not. */
const INITS = ['gaussian', 'eva', 'orthogonal'];

/** PEFT's own where a configuration leaves them out. */
const DEFAULTS = { r: 8, lora_alpha: 8 };

const MOST_TOKEN_ID = 2 ** 31 - 1;

/** @internal */
export const bad = (message: string, cause?: unknown): WebggufError =>
  new WebggufError('bad_file', `adapter: ${message}`, cause === undefined ? undefined : { cause });

/** What a configuration says. @internal */
export interface PeftConfig {
  /** Rows of the A of a module. */
  readonly rank: (module: string) => number;
  /** What the product of a module is multiplied by, times its rank. */
  readonly alpha: (module: string) => number;
  /** Why the adapter cannot have tensors of a module, if so. */
  readonly excludes: (module: string) => string | undefined;
  readonly invocation: readonly number[] | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * @param warn hears of keys that are not known
 * @throws {WebggufError} `bad_file`
 * @internal
 */
export function readPeftConfig(text: string, warn: (message: string) => void): PeftConfig {
  const config = fieldsOf(text);
  if (config.peft_type !== 'LORA') throw bad(`expected peft_type LORA, found ${shown(config.peft_type)}`);
  const bias = config.bias ?? 'none';
  if (bias !== 'none') throw bad(`expected bias none, found ${shown(bias)}`);
  for (const [key, value] of Object.entries(config)) {
    if (REFUSED_KEYS.has(key) && isSet(value)) throw bad(`${key} is not supported`);
    if (!(OTHER_KEYS.has(key) || REFUSED_KEYS.has(key) || READ_KEYS.has(key)) && isSet(value)) {
      warn(`adapter: adapter_config.json has the key ${shown(key)}, which is not known and left out`);
    }
  }
  checkStart(config.init_lora_weights);
  const rank = patterned(config, ['r', 'rank_pattern'], isRank, 'an integer from 1 on');
  const alpha = patterned(config, ['lora_alpha', 'alpha_pattern'], isFactor, 'a number');
  const isStable = flag(config, 'use_rslora');
  return {
    rank,
    alpha: (module) => alpha(module) * (isStable ? Math.sqrt(rank(module)) : 1),
    excludes: exclusion(config),
    invocation: invocation(config.alora_invocation_tokens),
  };
}

function fieldsOf(text: string): Fields {
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    // What is no JSON is no config either.
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw bad('adapter_config.json is not a JSON object');
  }
  return config as Fields;
}

/** A value of a file, for a message. @internal */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > 128 ? `${text.slice(0, 128)}…` : text;
}

/** Python's truth: what a switch or an option of any type is read by. */
function isSet(value: unknown): boolean {
  return typeof value === 'object' ? Object.keys(value ?? {}).length > 0 : Boolean(value);
}

function flag(config: Fields, key: string): boolean {
  const value = config[key] ?? false;
  if (typeof value !== 'boolean') throw bad(`${key}: expected true or false, found ${shown(value)}`);
  return value;
}

function checkStart(value: unknown): void {
  if (value === undefined || value === null || typeof value === 'boolean') return;
  if (typeof value === 'string' && INITS.includes(value.toLowerCase())) return;
  const found = `found ${shown(value)}, which may change the weights of the model`;
  throw bad(`init_lora_weights: expected true, false, ${INITS.join(', ')}, ${found}`);
}

const isRank = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;
const isFactor = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(Math.fround(value)) && (value === 0 || Math.fround(value) !== 0);

/** The number of each module: of the first pattern that its name ends with, or else of all. */
function patterned(
  config: Fields,
  [key, patternKey]: readonly ['r', 'rank_pattern'] | readonly ['lora_alpha', 'alpha_pattern'],
  is: (value: unknown) => value is number,
  expected: string,
): (module: string) => number {
  const checked = (name: string, value: unknown): number => {
    if (is(value)) return value;
    throw bad(`${name}: expected ${expected}, found ${shown(value)}`);
  };
  const others = config[key] === undefined ? DEFAULTS[key] : checked(key, config[key]);
  const given = config[patternKey] ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw bad(`${patternKey}: expected an object, found ${shown(given)}`);
  }
  const rows = Object.entries(given).map(([pattern, value]) => {
    return [nameOf(patternKey, pattern), checked(`${patternKey} of ${shown(pattern)}`, value)] as const;
  });
  return (module) => rows.find(([name]) => endsWith(module, name))?.[1] ?? others;
}

/** The name in a pattern. Patterns are regular expressions; only those that are plain names are read. */
function nameOf(key: string, pattern: string): string {
  if (/^\^?(\w|\\?\.)+$/.test(pattern)) return pattern.replaceAll('\\.', '.');
  throw bad(`${key}: the regular expression ${shown(pattern)} is not supported, expected the name of a module`);
}

/** Whether the name of a module ends with `name`, part for part; after `^` it is the whole. */
function endsWith(module: string, name: string): boolean {
  return name.startsWith('^') ? module === name.slice(1) : `.${module}`.endsWith(`.${name}`);
}

/** Names of modules; `undefined` where the configuration has none, or a regular expression, which is not run. */
function names(config: Fields, key: string): string[] | undefined {
  const given = config[key] ?? undefined;
  if (given === undefined || typeof given === 'string') return undefined;
  if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given;
  throw bad(`${key}: expected names of modules, found ${shown(given)}`);
}

/** Why the adapter cannot have tensors of a module: PEFT would leave them out. */
function exclusion(config: Fields): PeftConfig['excludes'] {
  const given = config.layers_to_transform;
  const layers = typeof given === 'number' ? [given] : (given ?? []);
  if (!(Array.isArray(layers) && layers.every((layer) => Number.isSafeInteger(layer) && layer >= 0))) {
    throw bad(`layers_to_transform: expected numbers of layers, found ${shown(given)}`);
  }
  const [targets, excluded] = [names(config, 'target_modules'), names(config, 'exclude_modules')];
  return (module) => {
    const is = (name: string): boolean => endsWith(module, name);
    const layer = /\.layers\.(\d+)\./.exec(`.${module}`)?.[1];
    if (layer !== undefined && layers.length > 0 && !layers.includes(Number(layer))) return 'layers_to_transform';
    if (excluded?.some(is)) return 'exclude_modules';
    return targets?.some(is) === false ? 'target_modules' : undefined;
  };
}

function invocation(ids: unknown): readonly number[] | undefined {
  if (ids === undefined || ids === null) return undefined;
  const isId = (id: unknown): boolean => Number.isInteger(id) && Number(id) >= 0 && Number(id) <= MOST_TOKEN_ID;
  if (Array.isArray(ids) && ids.length > 0 && ids.every(isId)) return ids;
  throw bad(`alora_invocation_tokens: expected token ids, found ${shown(ids)}`);
}
