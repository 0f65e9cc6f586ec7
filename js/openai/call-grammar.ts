/**
 * Grammars for answers that may call tools: text is free, and what follows the sign of a call is a call of one of the
 * tools, whose arguments follow their schema. Where the answer has a schema, it follows that, or begins with a call.
 * Written in the Lark of llguidance (docs/syntax.md there): a `[lazy]` rule
 * ends where it first matches, `<[5]>` is the token 5, and `<[^5]>` is any other.
 */
import type { ChatModel } from './chat-model.js';
import type { Tool } from '../types/chat.js';
import type { Grammar } from '../types/generate.js';
import { type Family, isInThoughts, specialOf } from './families.js';
import type { CallRule, Format, ObjectKeys, ParameterTags } from './formats/format.js';
import { mayBeText, wordsOf } from './formats/values.js';
import { literalRules, sharedLiteralRules } from './literal-grammar.js';

/** The ids of the signs that are control tokens; the others are text. @internal */
export type ControlTokens = ReadonlyMap<string, number>;

/** As the crate `grammar` has it between the parts of JSON; words that it does not know are left out. */
const GUIDANCE = { whitespace_pattern: '[ ]|\\n[ \\t]{0,20}', lenient: true };

type Vocabulary = Pick<ChatModel, 'tokenize' | 'detokenize'>;

/** The ids of the family's signs that are control tokens. */
async function controlTokens(model: Vocabulary, family: Family): Promise<ControlTokens> {
  const control = new Map<string, number>();
  for (const sign of new Set([...(family.format.marks ?? []), ...specialOf(family, true)])) {
    const [id, more] = await model.tokenize(sign, { parseSpecial: true });
    if (id === undefined || more !== undefined) continue;
    if ((await model.detokenize([id])) === '') control.set(sign, id);
  }
  return control;
}

/**
 * The grammar of calls that are forced, after what `force()` of their format begins with: one, or several; none where
 * the format of its calls cannot be followed. @internal
 */
export async function forcedGrammar(
  model: Vocabulary,
  family: Family,
  tools: readonly Tool[],
  several: boolean,
): Promise<Grammar | undefined> {
  const { format } = family;
  if (!format.marks || !format.body) return undefined;
  const control = await controlTokens(model, family);
  const { rest = format.body, literal } = format;
  const marks = format.marks.map((mark) => signsIn(control, mark)).join(' | ');
  const more = !several ? '' : literal?.after ? ' (NEXT call)*' : ` (SPACE (${marks}) call)*`;
  const end = literal?.after ? ` ${signsIn(control, literal.after)}` : '';
  const first = tools.map((_, place) => rest(ruleOf(tools, place, control)));
  const rules = callRules(format, tools, control);
  const lark = [`start: first${more}${end}`, `first: ${first.join(' | ')}`, 'NEXT: /, ?|\\n/', ...rules, ...TERMINALS];
  return { lark: lark.join('\n') };
}

/**
 * The grammar of an answer after `prompt`, whose text follows the schema `answer`; none where the format of its calls
 * cannot be followed.
 * @internal
 */
export async function callGrammar(
  model: Vocabulary,
  family: Family,
  prompt: string,
  tools: readonly Tool[],
  answer?: object,
): Promise<Grammar | undefined> {
  if (!family.format.marks || family.format.isFree) return undefined;
  const control = await controlTokens(model, family);
  const start = answer
    ? answerStart(family.format, control, answer)
    : freeStart(family, control, isInThoughts(family.thoughts, prompt));
  return { lark: callLark(family.format, tools, control, start) };
}

const TERMINALS = [
  'TEXT: /(?s:.+)/',
  'ANY: /(?s:.*)/',
  'SPACE: /( {0,2}|\\n[ \\t]{0,20})/',
  // Models break no line here, and a small model that may does so until its tokens are used up.
  'BLANK: / {0,2}/',
];

/** The grammar whose rules begin with `start`. */
function callLark(format: Format, tools: readonly Tool[], control: ControlTokens, start: readonly string[]): string {
  return [...start, ...callRules(format, tools, control), ...TERMINALS].join('\n');
}

/** The ids of the signs that are control tokens. */
const idsOf = ({ marks = [] }: Format, control: ControlTokens): number[] =>
  marks.flatMap((mark) => control.get(mark) ?? []);

/** Text is free. */
function freeStart(family: Family, control: ControlTokens, inThoughts: boolean): string[] {
  const ids = idsOf(family.format, control);
  if (family.format.isBare) return bareStart(ids);
  return ids.length > 0 ? [`start: ${freeTokens(ids)}`] : textStart(family, control, inThoughts);
}

/** An answer by its schema, or a call, after which text is free. */
function answerStart(format: Format, control: ControlTokens, schema: object): string[] {
  const ids = idsOf(format, control);
  const strict = { 'x-guidance': { whitespace_pattern: GUIDANCE.whitespace_pattern }, ...schema };
  const rules = [`answer: %json ${JSON.stringify(strict)}`, 'GAP: /\\s{1,8}/'];
  if (ids.length > 0) return [`start: GAP? (answer | <[${ids}]> calls ${freeTokens(ids)})`, ...rules];
  return [`start: GAP? (answer | (${choice(format.marks ?? [])}) calls main)`, ...rules, ...textMain(format, control)];
}

const freeTokens = (ids: readonly number[]): string => `(<[^${ids}]> | <[${ids}]> calls)*`;

/** Calls begin with the answer, or behind the sign. */
function bareStart(ids: readonly number[]): string[] {
  const tagged = ids.length > 0 ? ` | PROSE? <[${ids}]> calls` : '';
  return [`start: calls | PROSE?${tagged}`, 'PROSE: /\\s*[^{\\s](?s:.*)/'];
}

/** Text in which calls begin with signs that are text. */
function textMain({ marks = [] }: Format, control: ControlTokens): string[] {
  const others = [...control.values()];
  const other = others.length > 0 ? ` | TEXT? <[${others}]>` : '';
  return [`main: (head calls${other})* TEXT?`, `head[lazy]: ANY (${choice(marks)})`];
}

/** What is written in thoughts is no call. */
function textStart({ format, thoughts }: Family, control: ControlTokens, inThoughts: boolean): string[] {
  const { marks = [] } = format;
  const main = textMain(format, control);
  if (!thoughts || format.isBare || control.has(thoughts.close)) return ['start: main', ...main];
  const close = quoted(thoughts.close);
  if (inThoughts) return ['start: thought main | TEXT?', `thought[lazy]: ANY ${close}`, ...main];
  const open = `/\\s*/ (${choice(thoughts.opens)}) ANY`;
  return [
    'start: thought main | first calls main | TEXT?',
    `thought[lazy]: ${open} ${close}`,
    `first[lazy]: ANSWER (${choice(marks)})`,
    `ANSWER: ANY & ~(${open})`,
    ...main,
  ];
}

/** The rules of a text up to a sign, which ends it: control tokens cannot stand in a lazy rule. */
function textUpTo(rule: string, control: ControlTokens, sign: string): string[] {
  const { before, token, behind } = firstToken(control, sign);
  if (token === undefined) return [`${rule}[lazy]: ANY ${quoted(sign)}`];
  const rest = `<[${token}]> ${signsIn(control, behind)}`;
  if (before === '') return [`${rule}: <[^${token}]>* ${rest}`];
  const name = `${rule.toUpperCase()}_UP_TO`;
  return [`${rule}: ${name} ${rest}`, `${name}: /(?s:.*)${before.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}/`];
}

/** The first control token in a text: the longest that begins where no other one begins before. */
function firstToken(control: ControlTokens, text: string): { before: string; token?: number; behind: string } {
  let [at, found] = [text.length, ''];
  for (const sign of control.keys()) {
    const place = text.indexOf(sign);
    if (place >= 0 && (place < at || (place === at && sign.length > found.length))) [at, found] = [place, sign];
  }
  const token = control.get(found);
  return { before: text.slice(0, at), ...(token !== undefined && { token }), behind: text.slice(at + found.length) };
}

/** A text in which signs may be control tokens. */
function signsIn(control: ControlTokens, text: string): string {
  const { before, token, behind } = firstToken(control, text);
  if (token === undefined) return text && quoted(text);
  return [before && quoted(before), `<[${token}]>`, signsIn(control, behind)].filter(Boolean).join(' ');
}

const nameOf = (tools: readonly Tool[], place: number): string => (tools[place] as Tool).function.name;

function ruleOf(tools: readonly Tool[], place: number, control: ControlTokens): CallRule {
  return {
    name: quoted(nameOf(tools, place)),
    json: `json_${place}`,
    sign: (text) => signsIn(control, text),
  };
}

/** What follows a sign. */
function callRules(format: Format, tools: readonly Tool[], control: ControlTokens): string[] {
  const { object, literal } = format;
  const quote = literal?.quote === undefined ? '' : signsIn(control, literal.quote);
  const rules = tools.flatMap(({ function: { name, parameters } }, place) => {
    const schema = { type: 'object', ...parameters, 'x-guidance': GUIDANCE };
    const json = format.parameters
      ? parameterRules(format.parameters, `json_${place}`, schema, control)
      : literal
        ? literalRules(literal, `json_${place}`, schema, quote)
        : [`json_${place}: %json ${JSON.stringify(schema)}`];
    if (!object) return [`call_${place}: ${format.body?.(ruleOf(tools, place, control))}`, ...json];
    return [`call_${place}: OPEN_${place} json_${place} CLOSE`, `OPEN_${place}: ${objectOpen(object, name)}`, ...json];
  });
  const calls = format.isBare ? 'call (SEMICOLON call)*' : object?.isList ? 'LIST call (COMMA call)* END' : 'call';
  return [
    `calls: ${calls}`,
    `call: ${tools.map((_, place) => `call_${place}`).join(' | ')}`,
    ...rules,
    ...(literal ? sharedLiteralRules(literal, quote, textUpTo('literal_end', control, literal.quote ?? '')) : []),
    'CLOSE: SPACE "}"',
    'LIST: SPACE "["',
    'COMMA: SPACE ","',
    'END: SPACE "]"',
    'SEMICOLON: SPACE ";"',
  ];
}

/** What stands before the arguments in an object. */
function objectOpen({ name: nameKey = 'name', key, id, isByName = false }: ObjectKeys, name: string): string {
  const member = (text: string): string => `SPACE ${quoted(JSON.stringify(text))} BLANK ":" BLANK`;
  if (isByName) return `SPACE "{" ${member(name)}`;
  const before = id ? `(${member(id)} /"[^"\\\n]{0,64}"/ BLANK ",")? ` : '';
  return `SPACE "{" ${before}${member(nameKey)} ${quoted(JSON.stringify(name))} BLANK "," ${member(key)}`;
}

/** Parameters one by one, each with its value; texts stand bare. */
function parameterRules(tags: ParameterTags, rule: string, schema: object, control: ControlTokens): string[] {
  const {
    properties = {},
    required = [],
    additionalProperties = true,
  } = schema as {
    properties?: Record<string, unknown>;
    required?: readonly string[];
    additionalProperties?: unknown;
  };
  const names = Object.keys(properties);
  const line = tags.isPadded ? '"\\n"' : '';
  const close = signsIn(control, tags.close);
  const open = (key: string, isText = true): string => {
    const between = tags.open ? ` SPACE ${signsIn(control, tags.open)}` : '';
    const kinds = (isText ? undefined : tags.afterOthers) ?? [tags.after];
    const after = kinds.map((kind) => signsIn(control, kind)).join(' | ');
    return `SPACE ${signsIn(control, tags.before)} ${key} (${after})${between} ${line}`;
  };
  const rules = textUpTo(`${rule}_text`, control, tags.close);
  const parts = names.map((name, index) => {
    const isNeeded = Array.isArray(required) && required.includes(name);
    const isText = wordsOf(schema, name) !== undefined || mayBeText(schema, name);
    const key = quoted(name);
    rules.push(`${rule}_${index}: ${open(key, isText)} ${valueRule(name, schema, rule, { line, close })}`);
    return `${rule}_${index}${isNeeded ? '' : '?'}`;
  });
  if (names.length === 0 && additionalProperties !== false) {
    rules.push(`${rule}_any: ${open('/[^<>"\n]{1,64}/')} ${rule}_text`);
    parts.push(`${rule}_any*`);
  }
  return [`${rule}: ${parts.join(' ') || '""'}`, ...rules];
}

/** A value and its closing sign. */
function valueRule(
  name: string,
  schema: object,
  rule: string,
  { line, close }: { readonly line: string; readonly close: string },
): string {
  const texts = wordsOf(schema, name);
  if (texts) return `(${choice(texts)}) ${line} ${close}`;
  if (mayBeText(schema, name)) return `${rule}_text`;
  const { $defs, definitions } = schema as { $defs?: object; definitions?: object };
  const { [name]: own } = (schema as { properties: Record<string, unknown> }).properties;
  const isElsewhere = /"\$ref":"#(?!\/(?:\$defs|definitions)\/)/.test(JSON.stringify(own));
  const whole = { 'x-guidance': GUIDANCE, ...($defs && { $defs }), ...(definitions && { definitions }) };
  const json = isElsewhere || typeof own !== 'object' ? whole : { ...whole, ...own };
  return `%json ${JSON.stringify(json)} ${line} ${close}`;
}

const quoted = (text: string): string => JSON.stringify(text);
const choice = (texts: readonly string[]): string => texts.map(quoted).join(' | ');
