/**
 * Grammar rules for arguments that are written as literals: keyword arguments of Python (`days=2, place="Rome"`), and
 * what Gemma writes (`days:2,place:<|"|>Rome<|"|>`). They follow types, `enum`, `const`, `required`, unions and `$ref`
 * of a schema; ranges, patterns and lengths are left to whoever runs the tool.
 */
import type { LiteralStyle } from './formats/format.js';
import { referenced } from './formats/values.js';

type Schema = Record<string, unknown>;

/** Inline schemas deeper than this are any value. */
const DEEPEST = 12;
/** Schemas of one tool that are followed; any value stands for the others. */
const MOST = 2000;
/** Keys that are written without quotes. */
const BARE_KEY = /^[^\s,:=()[\]{}"'<]+$/;

/** Texts in double or single quotes. */
const PYTHON_TEXTS = [
  'literal_text: TEXT_1 | TEXT_2',
  'TEXT_1: /"([^"\\\\\\n]|\\\\[^\\n])*"/',
  "TEXT_2: /'([^'\\\\\\n]|\\\\[^\\n])*'/",
];

/** The rules of a tool's arguments: `rule` and those it needs. `quote`: the sign around texts, as Lark. @internal */
export function literalRules(style: LiteralStyle, rule: string, schema: object, quote: string): string[] {
  return new Rules(style, rule, schema as Schema, quote).all();
}

/** The rules that all tools share. `end`: the rule `literal_end` of a text up to its sign. @internal */
export function sharedLiteralRules({ isPython }: LiteralStyle, quote: string, end: readonly string[]): string[] {
  const words = isPython ? '"True" | "False" | "None"' : '"true" | "false" | "null"';
  const texts = isPython ? PYTHON_TEXTS : [`literal_text: ${quote} literal_end`, ...end];
  return [
    ...texts,
    `literal_any: literal_text | LITERAL_NUMBER | ${words} | literal_list | literal_object`,
    'literal_list: "[" (literal_any (BETWEEN literal_any)*)? "]"',
    'literal_object: "{" (literal_pair (BETWEEN literal_pair)*)? "}"',
    `literal_pair: ${isPython ? 'literal_text' : 'LITERAL_KEY'} COLON literal_any`,
    'LITERAL_KEY: /[^\\s,:=()\\[\\]{}"\'<]{1,64}/',
    'LITERAL_NUMBER: /-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?/',
    'LITERAL_WHOLE: /-?(0|[1-9][0-9]*)/',
    'BETWEEN: /, ?/',
    'COLON: /: ?/',
  ];
}

class Rules {
  readonly #rules: string[] = [];
  /** The rule of each `$ref`. */
  readonly #references = new Map<string, string>();
  #left = MOST;

  constructor(
    readonly style: LiteralStyle,
    readonly rule: string,
    readonly root: Schema,
    readonly quote: string,
  ) {}

  all(): string[] {
    const { properties, additionalProperties = true } = this.root;
    const assign = this.style.isPython ? '"="' : '":"';
    const isAny = namesOf(properties).length === 0 && additionalProperties !== false;
    const any = `(${this.rule}_pair (BETWEEN ${this.rule}_pair)*)?`;
    if (isAny) this.#rules.push(`${this.rule}_pair: LITERAL_KEY ${assign} literal_any`);
    const pairs = isAny ? any : this.#pairs(this.root, (key) => `${JSON.stringify(keyText(key))} ${assign}`, 0);
    return [`${this.rule}: ${pairs}`, ...this.#rules];
  }

  #add(text: string): string {
    const name = `${this.rule}_l${this.#rules.length}`;
    this.#rules.push(`${name}: ${text}`);
    return name;
  }

  /** The pairs of an object in the order of its properties; commas stand between those that are there. */
  #pairs({ properties, required }: Schema, open: (key: string) => string, depth: number): string {
    const needed = new Set(Array.isArray(required) ? required : []);
    const pairs = namesOf(properties).map((key) => ({
      isNeeded: needed.has(key),
      text: this.#add(`${open(key)} ${this.#value((properties as Schema)[key], depth + 1)}`),
    }));
    const firsts: string[] = [];
    let rest = '';
    for (const { isNeeded, text } of pairs.reverse()) {
      if (isNeeded) firsts.length = 0;
      firsts.push(`${text} ${rest}`);
      rest = this.#add(`(BETWEEN ${text})${isNeeded ? '' : '?'} ${rest}`);
    }
    const isOptional = !pairs.some(({ isNeeded }) => isNeeded);
    return firsts.length > 0 ? `(${firsts.join(' | ')})${isOptional ? '?' : ''}` : '""';
  }

  #value(schema: unknown, depth: number): string {
    this.#left -= 1;
    if (typeof schema !== 'object' || schema === null || depth > DEEPEST || this.#left < 0) return 'literal_any';
    const { $ref: reference, enum: list, anyOf, oneOf, allOf, type, nullable } = schema as Schema;
    if (typeof reference === 'string') return this.#reference(reference, depth);
    const listed = Object.hasOwn(schema, 'const') ? [(schema as Schema).const] : list;
    if (Array.isArray(listed) && listed.length > 0) return either(listed.map((each) => this.#literal(each)));
    const union = anyOf ?? oneOf;
    if (Array.isArray(union) && union.length > 0) return either(union.map((each) => this.#value(each, depth + 1)));
    if (Array.isArray(allOf)) return allOf.length === 1 ? this.#value(allOf[0], depth + 1) : 'literal_any';
    const types = [type ?? guessed(schema as Schema)].flat();
    return either([...types, ...(nullable === true ? ['null'] : [])].map((each) => this.#typed(each, schema, depth)));
  }

  #typed(type: unknown, schema: object, depth: number): string {
    const { items, minItems, properties } = schema as Schema;
    switch (type) {
      case 'string':
        return 'literal_text';
      case 'integer':
        return 'LITERAL_WHOLE';
      case 'number':
        return 'LITERAL_NUMBER';
      case 'boolean':
        return either([this.#literal(true), this.#literal(false)]);
      case 'null':
        return this.#literal(null);
      case 'array': {
        const item = this.#value(items, depth + 1);
        return `"[" (${item} (BETWEEN ${item})*)${Number(minItems) > 0 ? '' : '?'} "]"`;
      }
      case 'object': {
        if (namesOf(properties).length === 0) return 'literal_object';
        return `"{" ${this.#pairs(schema as Schema, (key) => `${this.#key(key)} COLON`, depth)} "}"`;
      }
      default:
        return 'literal_any';
    }
  }

  /** The rule of what a `$ref` stands for, which may hold itself. */
  #reference(reference: string, depth: number): string {
    const known = this.#references.get(reference);
    if (known) return known;
    const found = referenced(this.root, reference);
    if (found === undefined) return 'literal_any';
    const name = `${this.rule}_r${this.#references.size}`;
    this.#references.set(reference, name);
    this.#rules.push(`${name}: ${this.#value(found, depth + 1)}`);
    return name;
  }

  /** A key of an object within the arguments. */
  #key(key: string): string {
    return this.style.isPython ? JSON.stringify(JSON.stringify(key)) : JSON.stringify(keyText(key));
  }

  /** A value that must be written just so. */
  #literal(value: unknown): string {
    const { isPython } = this.style;
    if (value === null) return isPython ? '"None"' : '"null"';
    if (typeof value === 'boolean') return JSON.stringify(isPython ? (value ? 'True' : 'False') : String(value));
    if (typeof value === 'number') return JSON.stringify(String(value));
    if (typeof value !== 'string') return 'literal_any';
    if (isPython) return JSON.stringify(JSON.stringify(value));
    return [this.quote, value && JSON.stringify(value), this.quote].filter(Boolean).join(' ');
  }
}

const namesOf = (properties: unknown): string[] =>
  typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
const keyText = (key: string): string => (BARE_KEY.test(key) ? key : JSON.stringify(key));
const either = (texts: readonly string[]): string => {
  const [only = 'literal_any', ...others] = new Set(texts);
  return others.length === 0 ? only : `(${[only, ...others].join(' | ')})`;
};

/** The type that other keywords imply. */
function guessed({ properties, items }: Schema): string {
  if (properties !== undefined) return 'object';
  return items === undefined ? 'any' : 'array';
}
