/**
 * The kinds of formats of which `table.ts` has rows: calls as JSON objects, as a name with JSON, as parameters one by
 * one, and as literals.
 */
import type { Called, CallRule, Format, ObjectKeys, Sink } from './format.js';
import { jsonText } from './json.js';
import { type Style, takePairs, takePython } from './literal.js';
import { type NamedStyle, takeNamed } from './named.js';
import { type ObjectStyle, takeObjects } from './objects.js';
import { OTHER, Scanner, type Wait } from './scanner.js';
import { type TagStyle, Tags, takeTagged } from './tagged.js';

/** What a row says: the signs of a format. */
interface Signs {
  readonly name: string;
  /** Signs with which calls begin; several may follow each other. */
  readonly opens: readonly string[];
  readonly closers?: readonly string[];
  /** Further control tokens. */
  readonly special?: readonly string[];
}

type Rest = Partial<Omit<Format, 'name' | 'opens' | 'closers' | 'special'>>;

const signsOf = ({ name, opens, closers = [], special = [] }: Signs) => ({
  name,
  opens,
  closers,
  special: [...new Set([...opens, ...closers, ...special])],
});

/** Takes the opening signs that are here, and white space behind each. */
export function* takeSigns(scanner: Scanner, signs: readonly string[]): Wait {
  while ((yield* scanner.takeAny(signs)) !== undefined) yield* scanner.space();
}

/** Calls as JSON objects behind a sign. @internal */
export function objects(signs: Signs, object: ObjectKeys, rest: Rest = {}): Format {
  const { before, name = 'name', key, isList = false, isByName = false } = object;
  const start = (tool?: string): string => {
    if (isByName) return tool === undefined ? '{"' : `{${JSON.stringify(tool)}: `;
    return tool === undefined ? `{"${name}": "` : `{"${name}": ${JSON.stringify(tool)}, "${key}": `;
  };
  return {
    ...signsOf(signs),
    isJson: true,
    object,
    *read(scanner, sink) {
      yield* takeSigns(scanner, signs.opens);
      yield* takeAny(scanner, sink, { isByName });
    },
    force: (tool) => `${before}${isList ? '[' : ''}${start(tool)}`,
    ...rest,
  };
}

/** Calls as a name, a sign and JSON. @internal */
export function named(signs: Signs, style: NamedStyle, rest: Rest & Pick<Format, 'force'>): Format {
  return {
    ...signsOf(signs),
    isJson: true,
    *read(scanner, sink) {
      yield* takeSigns(scanner, signs.opens);
      yield* takeNamed(scanner, sink, style);
    },
    ...rest,
  };
}

/** Calls as parameters one by one. @internal */
export function tagged(signs: Signs, style: TagStyle, rest: Rest = {}): Format {
  const tags = new Tags(style);
  const [outer = '', end = ''] = style.outer ?? [];
  const quote = style.hasAttributes ? '"' : '';
  const number = style.isNumbered ? ' index="' : '';
  const nameEnd = quote + (number && `${number}1"`) + style.afterName;
  const line = style.isPadded ? '\n' : '';
  const [before = '', behind = ''] = style.inner ?? [];
  const start = outer + (outer && !style.inner ? '\n' : '') + before + style.open;
  // From the name on, and from the sign around the call on.
  const nameEndIn = ({ sign }: CallRule): string =>
    number ? `${sign(quote + number)} /[0-9]{1,3}/ ${sign(quote + style.afterName)}` : nameEnd && sign(nameEnd);
  const from = (rule: CallRule): string =>
    [
      ...[rule.name, nameEndIn(rule), 'SPACE', rule.json, 'SPACE', rule.sign(style.close)],
      ...[behind && `SPACE ${rule.sign(behind)}`, end && `SPACE ${rule.sign(end)}`],
    ].join(' ');
  const own = [style.open, style.close, style.parameter, style.endValue, style.afterKey, style.beforeValue ?? ''];
  return {
    ...signsOf({ ...signs, special: [...own.filter((sign) => sign.startsWith('<')), ...(signs.special ?? [])] }),
    *read(scanner, sink) {
      const isOpen = yield* opensTag(scanner, signs.opens, style);
      const isJson = '{['.includes(yield* scanner.peek());
      if (isJson) yield* takeAny(scanner, sink);
      else if (isOpen) yield* takeTagged(scanner, sink, tags);
      else throw OTHER;
    },
    marks: [outer || style.open],
    isFree: true,
    force: (name) => start + (name === undefined ? '' : name + nameEnd + line),
    body: (rule) => (outer ? `SPACE ${rule.sign(before + style.open)} ${from(rule)}` : from(rule)),
    rest: from,
    parameters: {
      before: style.parameter,
      after: quote + (style.kinds?.text ?? '') + style.afterKey,
      ...(style.kinds && { afterOthers: style.kinds.others.map((kind) => quote + kind + style.afterKey) }),
      ...(style.beforeValue && { open: style.beforeValue }),
      close: style.endValue,
      ...(style.isPadded && { isPadded: true }),
    },
    ...rest,
  };
}

/** Without a grammar: the signs of such a format say more than a grammar here writes. @internal */
export function free({ marks: _, body: _body, rest: _rest, ...format }: Format): Format {
  return format;
}

/** Takes the signs before a call, the one at the name included. Whether that was there. */
function* opensTag(scanner: Scanner, opens: readonly string[], style: TagStyle): Wait<boolean> {
  let isOpen = false;
  for (;;) {
    const sign = yield* scanner.takeAny([...opens, style.open]);
    if (sign === undefined) return isOpen;
    isOpen = sign === style.open;
    if (!isOpen || !style.afterName) yield* scanner.space();
  }
}

/** Calls as literals: `call:name{key:value}`. @internal */
export function gemma(signs: Signs, quote: string): Format {
  const [open = ''] = signs.opens;
  const [close = ''] = signs.closers ?? [];
  const style: Style = { quotes: [quote, '"', "'"], isPython: false, assign: [':', '='] };
  return {
    ...signsOf({ ...signs, special: [quote] }),
    *read(scanner, sink) {
      yield* takeSigns(scanner, signs.opens);
      yield* scanner.take('call:');
      const name = yield* scanner.run(NAME);
      const first = yield* scanner.peek();
      if (first !== '{' && first !== '(') throw OTHER;
      scanner.at += 1;
      sink.begin(name);
      yield* takePairs(scanner, sink, style, [first === '{' ? '}' : ')', { name, tools: sink.tools }]);
    },
    marks: [open],
    isFree: true,
    force: (name) => `${open}call:${name === undefined ? '' : `${name}{`}`,
    body: ({ name, json, sign }) => `"call:" ${name} "{" ${json} "}" ${sign(close)}`,
    rest: ({ name, json, sign }) => `${name} "{" ${json} "}" ${sign(close)}`,
    literal: { isPython: false, quote },
  };
}

const NAME = /[^\s{}()[\]<>"',;=]*/y;

/** Calls of Python: `[name(key=value), …]`, or as JSON. @internal */
export function python(signs: Signs, [before, after]: readonly [string, string], rest: Rest = {}): Format {
  return {
    ...signsOf(signs),
    *read(scanner, sink) {
      yield* takeSigns(scanner, signs.opens);
      if (yield* scanner.take('```')) yield* scanner.run(/\w*/y);
      yield* scanner.space();
      yield* takeAny(scanner, sink);
    },
    marks: signs.opens,
    isFree: true,
    force: (name) => `${before}${name === undefined ? '' : `${name}(`}`,
    body: ({ name, json }) => `${name} "(" ${json} ")"`,
    literal: { isPython: true, after },
    write: (calls) => `${before}${calls.map(pythonCall).join(', ')}${after}`,
    ...rest,
  };
}

/** Takes JSON objects, or calls of Python, alone or in an array. @internal */
export function* takeAny(scanner: Scanner, sink: Sink, style: ObjectStyle = {}): Wait {
  const isList = (yield* scanner.peek()) === '[';
  if (isList) scanner.at += 1;
  const gap = isList ? yield* scanner.space() : '';
  const isJson = '{]'.includes(yield* scanner.peek());
  scanner.rewind(gap.length + (isList ? 1 : 0));
  if (isJson) yield* takeObjects(scanner, sink, style);
  else yield* takePython(scanner, sink, style.isKnown);
}

/** A call as Python writes it. */
function pythonCall({ name, arguments: text }: Called): string {
  const members = membersOf(text).map(([key, value]) => `${key}=${pythonText(value)}`);
  return `${name}(${members.join(', ')})`;
}

const pythonText = (json: string): string =>
  json.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"|true|false|null/g, (part) => IN_PYTHON[part] ?? part);
const IN_PYTHON: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

/** Takes the keys of a JSON object and the JSON text of their values. */
function membersOf(text: string): [string, string][] {
  const scanner = new Scanner();
  scanner.push(text.trim() || '{}');
  scanner.isOver = true;
  const { value } = takeMembers(scanner).next();
  return (value as [string, string][] | undefined) ?? [];
}

function* takeMembers(scanner: Scanner): Wait<[string, string][]> {
  const members: [string, string][] = [];
  yield* scanner.expect('{');
  for (;;) {
    yield* scanner.space();
    if (yield* scanner.take('}')) return members;
    const key = JSON.parse(yield* jsonText(scanner)) as string;
    yield* scanner.space();
    yield* scanner.expect(':');
    yield* scanner.space();
    members.push([key, yield* jsonText(scanner)]);
    yield* scanner.space();
    yield* scanner.take(',');
  }
}
