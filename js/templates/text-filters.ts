/**
 * Filters of texts that few templates use: lines, addresses, attributes, sizes.
 */
import { formatted } from './format-percent.js';
import { isScheme, linked } from './links.js';
import { pairsOf } from './methods.js';
import { type Args, type Filter, given, type Named } from './more.js';
import { pretty } from './pretty.js';
import { asNumber, escapedText } from './rare-filters.js';
import { linesOf } from './rare-methods.js';
import type { State } from './state.js';
import { repr, SPACE, textOf } from './text.js';
import {
  charactersOf,
  float,
  integerOf,
  isList,
  isMap,
  isTrue,
  itemsOf,
  kindOf,
  numeric,
  Safe,
  Series,
  TemplateError,
  tupleOf,
  type Value,
} from './values.js';
import { wrapped } from './wrapping.js';

/** @internal */
export const TEXT_FILTERS: Record<string, Filter> = {
  filesizeformat: fileSize,
  pprint: ({ budget }, value) => pretty(budget, value),
  random: chosen,
  urlize: withLinks,
  wordwrap: wrappedText,
  xmlattr: attributesOf,
};

function wrappedText({ budget }: State, value: Value, args: Args, named: Named): Value {
  if (typeof value !== 'string' && !(value instanceof Safe)) {
    throw new TemplateError(`wordwrap: expected text, found ${kindOf(value)}`);
  }
  const wrapping = {
    width: integerOf(given(args, named, 0, 'width', 79), 'wordwrap: width'),
    breaksLong: isTrue(given(args, named, 1, 'break_long_words', true)),
    breaksAtHyphens: isTrue(given(args, named, 3, 'break_on_hyphens', true)),
  };
  const between = textOf(budget, given(args, named, 2, 'wrapstring', null) ?? '\n');
  const lines = linesOf(budget, textOf(budget, value)).map((line) => {
    const found = wrapped(budget, line, wrapping);
    budget.text(line.length + found.length * between.length);
    return found.join(between);
  });
  budget.text(lines.reduce((sum, line) => sum + line.length + between.length, 0));
  return lines.join(between);
}

const NO_NAME = new RegExp(`[${SPACE}/>=]`);

function attributesOf({ budget }: State, value: Value, args: Args, named: Named): Value {
  if (!isMap(value)) throw new TemplateError(`xmlattr: expected a map, found ${kindOf(value)}`);
  const pairs = pairsOf(budget, value).flatMap((pair) => {
    const [name, item] = pair as Value[];
    if (item === null || item === undefined) return [];
    if (typeof name !== 'string') throw new TemplateError(`xmlattr: expected a name, found ${kindOf(name)}`);
    if (NO_NAME.test(name)) throw new TemplateError(`xmlattr: ${repr(budget, name)} is no name of an attribute`);
    return `${escapedText(budget, name)}="${escapedText(budget, item)}"`;
  });
  const text = pairs.join(' ');
  budget.text(text.length + 1);
  return text !== '' && isTrue(given(args, named, 0, 'autospace', true)) ? ` ${text}` : text;
}

function withLinks({ budget }: State, value: Value, args: Args, named: Named): Value {
  const limit = given(args, named, 0, 'trim_url_limit', null);
  const textAt = (index: number, name: string): string => textOf(budget, given(args, named, index, name, null) ?? '');
  const rel = new Set(textAt(3, 'rel').split(/\s+/).filter(Boolean)).add('noopener');
  if (isTrue(given(args, named, 1, 'nofollow', false))) rel.add('nofollow');
  const target = textAt(2, 'target');
  const given4 = given(args, named, 4, 'extra_schemes', null);
  const schemes = given4 === null ? [] : itemsOf(budget, given4).map((item) => textOf(budget, item));
  const wrong = schemes.find((scheme) => !isScheme(scheme));
  if (wrong !== undefined) throw new TemplateError(`urlize: ${repr(budget, wrong)} is no beginning of an address`);
  const inOrder = escapedText(budget, [...rel].sort().join(' '));
  const attributes = ` rel="${inOrder}"${target === '' ? '' : ` target="${escapedText(budget, target)}"`}`;
  const text = escapedText(budget, value);
  // A word may become a link, with its address twice.
  budget.text(3 * text.length + Math.ceil(text.length / 3) * (attributes.length + 24));
  const shown = limit === null ? undefined : integerOf(limit, 'urlize: trim_url_limit');
  return linked(text, { shown, attributes, schemes });
}

const UNITS = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];

function fileSize(state: State, value: Value, args: Args, named: Named): Value {
  const bytes = numeric(asNumber(value, undefined, true));
  if (bytes === undefined) throw new TemplateError(`filesizeformat: expected a number, found ${kindOf(value)}`);
  const size = Number(bytes);
  const isBinary = isTrue(given(args, named, 0, 'binary', false));
  const base = isBinary ? 1024 : 1000;
  if (size === 1) return '1 Byte';
  if (size === -Infinity) throw new TemplateError('filesizeformat: expected a number of bytes, found -inf');
  if (size < base) return `${BigInt(Math.trunc(size))} Bytes`;
  // Compared as integers: as a float, 10 ** 24 is not what it is.
  const unit = (at: number): bigint => BigInt(base) ** BigInt(at + 2);
  const whole = Number.isFinite(size) ? BigInt(Math.trunc(size)) : undefined;
  const found = UNITS.findIndex((_, at) => whole !== undefined && whole < unit(at));
  const at = found < 0 ? UNITS.length - 1 : found;
  const number = formatted(state, '%.1f', tupleOf([float((base * size) / Number(unit(at)))]));
  const name = isBinary ? `${(UNITS[at] as string).toUpperCase()}iB` : `${UNITS[at]}B`;
  return `${number} ${name}`;
}

/**
 * One of several. jinja2 draws; here the choice follows from what is there, since the same conversation has to become
 * the same prompt.
 */
function chosen({ budget }: State, value: Value): Value {
  const isOrdered = typeof value === 'string' || isList(value) || (value instanceof Series && value.kind === 'range');
  if (!isOrdered) throw new TemplateError(`random: expected a list or text, found ${kindOf(value)}`);
  const items = typeof value === 'string' ? charactersOf(value) : itemsOf(budget, value);
  let hash = 0x811c9dc5;
  for (const sign of repr(budget, value)) hash = Math.imul(hash ^ (sign.codePointAt(0) as number), 0x01000193);
  return items[(hash >>> 0) % Math.max(1, items.length)];
}
