/**
 * What a schema says about a value that is written bare: whether `12134` is a number or text.
 */
import { compactJson, isNumber, wordOf } from './json.js';

type Schema = Record<string, unknown>;

/** What a value may be. */
interface Kinds {
  /** Text, by any of the ways in which a schema can say so. */
  readonly text: boolean;
  /** An object or an array. */
  readonly structure: boolean;
  readonly null: boolean;
  /** True or false, and nothing else. */
  readonly onlyBoolean: boolean;
  /** Text, and nothing else. */
  readonly onlyText: boolean;
  /** The schema says nothing of it. */
  readonly any: boolean;
}

const STRUCTURES = ['object', 'array'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', ...STRUCTURES];
/** Keywords that speak of values of one kind. */
const OF_KIND: readonly (readonly [string, readonly string[]])[] = [
  ['string', ['pattern', 'format', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType']],
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];
/** Schemas within schemas deeper than this, and more of them, are taken as any. */
const DEEPEST = 12;
const MOST = 2000;

/** Reads schemas of one tool. */
class Reading {
  #left = MOST;

  constructor(readonly root: unknown) {}

  /** Whether all that may be looked at was. */
  isOver(depth: number): boolean {
    this.#left -= 1;
    return depth > DEEPEST || this.#left < 0;
  }

  /** The types that a schema allows. */
  types(schema: unknown, depth = 0): ReadonlySet<string> {
    if (schema === false) return new Set();
    if (typeof schema !== 'object' || schema === null || this.isOver(depth)) return new Set(TYPES);
    const { type, nullable, enum: list, const: only, $ref: reference, allOf, anyOf, oneOf } = schema as Schema;
    let allowed = new Set(type === undefined ? this.#guessed(schema as Schema) : [type].flat().map(String));
    if (allowed.has('number')) allowed.add('integer');
    if (Array.isArray(list)) allowed = common(allowed, new Set(list.map(typeOf)));
    if (Object.hasOwn(schema, 'const')) allowed = common(allowed, new Set([typeOf(only)]));
    if (reference !== undefined) allowed = common(allowed, this.types(referenced(this.root, reference), depth + 1));
    for (const each of listOf(allOf)) allowed = common(allowed, this.types(each, depth + 1));
    for (const some of [listOf(anyOf), listOf(oneOf), this.#branches(schema as Schema)]) {
      if (some.length > 0) allowed = common(allowed, union(some.map((each) => this.types(each, depth + 1))));
    }
    if (nullable === true) allowed.add('null');
    return allowed;
  }

  /** What `if` leads to. */
  #branches({ if: condition, then: yes = true, else: no = true }: Schema): unknown[] {
    return condition === undefined ? [] : [yes, no];
  }

  /** Without a type: the type that the keywords imply, or any. */
  #guessed(schema: Schema): readonly string[] {
    const found = OF_KIND.filter(([, words]) => words.some((word) => Object.hasOwn(schema, word)));
    return found.length > 0 ? found.map(([kind]) => kind) : TYPES;
  }

  /** The schemas of a property, by all that a schema says about its properties. */
  properties(schema: unknown, key: string, depth = 0): unknown[] {
    if (typeof schema !== 'object' || schema === null || this.isOver(depth)) return [];
    const { properties, patternProperties, additionalProperties, $ref: reference } = schema as Schema;
    const { allOf, anyOf, oneOf, then: yes, else: no, dependentSchemas } = schema as Schema;
    const found: unknown[] = own(properties, key);
    for (const [pattern, value] of Object.entries((patternProperties as object | undefined) ?? {})) {
      if (matches(pattern, key)) found.push(value);
    }
    const others = [referenced(this.root, reference), ...[allOf, anyOf, oneOf].flatMap(listOf), yes, no];
    others.push(...Object.values((dependentSchemas as object | undefined) ?? {}));
    for (const other of others) found.push(...this.properties(other, key, depth + 1));
    if (found.length === 0 && typeof additionalProperties === 'object') found.push(additionalProperties);
    return found.filter((each) => each !== undefined);
  }
}

/** What `#/$defs/name` stands for in a schema; `undefined` where nothing is there. @internal */
export function referenced(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let found = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Schema)[key];
  }
  return found;
}

const own = (values: unknown, key: string): unknown[] =>
  typeof values === 'object' && values !== null && Object.hasOwn(values, key) ? [(values as Schema)[key]] : [];
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const common = (a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> =>
  new Set([...a].filter((type) => b.has(type)));
const union = (sets: readonly ReadonlySet<string>[]): Set<string> => new Set(sets.flatMap((set) => [...set]));

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(key.slice(0, 200));
  } catch {
    return false;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether a tool's schema names a parameter. @internal */
export function hasProperty(tool: unknown, key: string): boolean {
  return new Reading(tool).properties(tool, key).length > 0;
}

/** What a parameter may be; `undefined` schema: any. */
function kindsOf(tool: unknown, key: string): Kinds {
  const reading = new Reading(tool);
  const found = reading.properties(tool, key);
  const types = found.length > 0 ? union(found.map((schema) => reading.types(schema))) : new Set(TYPES);
  return {
    text: types.has('string') || types.size === 0,
    structure: STRUCTURES.some((type) => types.has(type)),
    null: types.has('null'),
    onlyBoolean: types.size === 1 && types.has('boolean'),
    onlyText: types.size === 1 && types.has('string'),
    any: types.size === TYPES.length,
  };
}

/**
 * The JSON of a value that is written bare. What may be text is text, but for `null` and for objects and arrays where
 * the schema allows them; so is what is no JSON. `read` reads literals of another language.
 * @internal
 */
export function bareValue(
  value: string,
  tool: unknown,
  key: string,
  read: (text: string) => string | undefined,
): string {
  const kinds = kindsOf(tool, key);
  const word = value.trim();
  if (kinds.null && (word === 'null' || (word === 'None' && !kinds.any))) return 'null';
  if (kinds.any && (word === 'true' || word === 'false')) return word;
  const isStructure = /^[[{]/.test(word) && kinds.structure;
  if (kinds.text && !isStructure) return JSON.stringify(value);
  if (kinds.onlyBoolean && /^(?:true|false)$/i.test(word)) return word.toLowerCase();
  const plain = isNumber(word) ? word : (wordOf(word) ?? compactJson(word));
  return plain ?? read(word) ?? JSON.stringify(value);
}

/** Whether a parameter is text, and nothing else. @internal */
export const isOnlyText = (tool: unknown, key: string): boolean => kindsOf(tool, key).onlyText;

/** Whether a parameter may be text. @internal */
export const mayBeText = (tool: unknown, key: string): boolean => kindsOf(tool, key).text;

/** The texts that a parameter may be, where its own schema lists them. @internal */
export function wordsOf(tool: unknown, key: string): readonly string[] | undefined {
  const [schema] = own((tool as Schema).properties, key) as Schema[];
  const list = schema && Object.hasOwn(schema, 'const') ? [schema.const] : schema?.enum;
  const isTexts = Array.isArray(list) && list.length > 0 && list.every((word) => typeof word === 'string' && word);
  return isTexts ? (list as string[]) : undefined;
}
