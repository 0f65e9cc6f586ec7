/**
 * Grammars for answers that may call tools: text is free, and what follows the sign of a call is a call of one of the
 * tools, whose arguments follow their schema. Where the answer has a schema, it follows that, or begins with a call.
 * Written in the Lark of llguidance (docs/syntax.md there): a `[lazy]` rule
 * ends where it first matches, `<[5]>` is the token 5, and `<[^5]>` is any other.
 */
import type { WasmModel } from '../model/model.js';
import type { Grammar, Tool } from '../types.js';
import { type Family, isInThoughts, specialOf } from './families.js';
import type { Format } from './formats/format.js';

/** The ids of the signs that are control tokens; the others are text. @internal */
export type ControlTokens = ReadonlyMap<string, number>;

/** As the crate `grammar` has it between the parts of JSON; words that it does not know are left out. */
const GUIDANCE = { whitespace_pattern: '[ ]|\\n[ \\t]{0,20}', lenient: true };

/**
 * The grammar of an answer after `prompt`, whose text follows the schema `answer`; none where the format of its calls
 * cannot be followed.
 * @internal
 */
export async function callGrammar(
  model: Pick<WasmModel, 'tokenize' | 'detokenize'>,
  family: Family,
  prompt: string,
  tools: readonly Tool[],
  answer?: object,
): Promise<Grammar | undefined> {
  if (!family.format.marks) return undefined;
  const control = new Map<string, number>();
  for (const sign of new Set([...family.format.marks, ...specialOf(family, true)])) {
    const [id, more] = await model.tokenize(sign, { parseSpecial: true });
    if (id === undefined || more !== undefined) continue;
    if ((await model.detokenize([id])) === '') control.set(sign, id);
  }
  const start = answer
    ? answerStart(family.format, control, answer)
    : freeStart(family, control, isInThoughts(family.thoughts, prompt));
  return { lark: callLark(family.format, tools, control, start) };
}

/** The grammar whose rules begin with `start`. */
function callLark(format: Format, tools: readonly Tool[], control: ControlTokens, start: readonly string[]): string {
  return [
    ...start,
    ...callRules(format, tools, control),
    'TEXT: /(?s:.+)/',
    'ANY: /(?s:.*)/',
    'SPACE: /( |\\n[ \\t]{0,20})?/',
    // Nobody breaks a line here, and a small model that may does so until its tokens are used up.
    'BLANK: " "?',
  ].join('\n');
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

/** What follows a sign. */
function callRules(format: Format, tools: readonly Tool[], control: ControlTokens): string[] {
  const { object } = format;
  const sign = (text: string): string => (control.has(text) ? `<[${control.get(text)}]>` : quoted(text));
  const rules = tools.flatMap(({ function: { name, parameters } }, place) => {
    const schema = { type: 'object', ...parameters, 'x-guidance': GUIDANCE };
    const json = `json_${place}: %json ${JSON.stringify(schema)}`;
    if (!object) return [`call_${place}: ${format.body?.(quoted(name), `json_${place}`, sign)}`, json];
    const member = (key: string): string => `SPACE ${quoted(JSON.stringify(key))} BLANK ":" BLANK`;
    const value = quoted(JSON.stringify(name));
    const open = `OPEN_${place}: SPACE "{" ${member('name')} ${value} BLANK "," ${member(object.key)}`;
    return [`call_${place}: OPEN_${place} json_${place} CLOSE`, open, json];
  });
  const calls = format.isBare ? 'call (SEMICOLON call)*' : object?.isList ? 'LIST call (COMMA call)* END' : 'call';
  return [
    `calls: ${calls}`,
    `call: ${tools.map((_, place) => `call_${place}`).join(' | ')}`,
    ...rules,
    'CLOSE: SPACE "}"',
    'LIST: SPACE "["',
    'COMMA: SPACE ","',
    'END: SPACE "]"',
    'SEMICOLON: SPACE ";"',
  ];
}

const quoted = (text: string): string => JSON.stringify(text);
const choice = (texts: readonly string[]): string => texts.map(quoted).join(' | ');
