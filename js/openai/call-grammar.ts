/**
 * Grammars for answers that may call tools: text is free, and what follows the sign of a call is a call of one of the
 * tools, whose arguments follow their schema. Written in the Lark of llguidance (docs/syntax.md there): a `[lazy]` rule
 * ends where it first matches, `<[5]>` is the token 5, and `<[^5]>` is any other.
 */
import { followable } from '../model/schema.js';
import type { WasmModel } from '../model/model.js';
import type { Grammar, Tool } from '../types.js';
import { type Family, isInThoughts, specialOf } from './families.js';
import type { Format } from './formats/format.js';

/** The ids of the signs that are control tokens; the others are text. @internal */
export type ControlTokens = ReadonlyMap<string, number>;

/** As the crate `grammar` has it between the parts of JSON; words that it does not know are left out. */
const GUIDANCE = { whitespace_pattern: '[ ]|\\n[ \\t]{0,20}', lenient: true };

/** The grammar of an answer after `prompt`; none where the format of its calls cannot be followed. @internal */
export async function callGrammar(
  model: Pick<WasmModel, 'tokenize' | 'detokenize'>,
  family: Family,
  prompt: string,
  tools: readonly Tool[],
): Promise<Grammar | undefined> {
  if (!family.format.marks) return undefined;
  const control = new Map<string, number>();
  for (const sign of new Set([...family.format.marks, ...specialOf(family, true)])) {
    const [id, more] = await model.tokenize(sign, { parseSpecial: true });
    if (id === undefined || more !== undefined) continue;
    if ((await model.detokenize([id])) === '') control.set(sign, id);
  }
  return { lark: callLark(family, tools, control, isInThoughts(family.thoughts, prompt)) };
}

/** @internal */
export function callLark(family: Family, tools: readonly Tool[], control: ControlTokens, inThoughts = false): string {
  const { format } = family;
  const marks = format.marks ?? [];
  const ids = marks.flatMap((mark) => control.get(mark) ?? []);
  const start = format.isBare
    ? bareStart(ids)
    : ids.length > 0
      ? [`start: (<[^${ids}]> | <[${ids}]> calls)*`]
      : textStart(family, marks, control, inThoughts);
  return [
    ...start,
    ...callRules(format, tools, control),
    'TEXT: /(?s:.+)/',
    'ANY: /(?s:.*)/',
    'SPACE: /( |\\n[ \\t]{0,20})?/',
  ].join('\n');
}

/** Calls begin with the answer, or behind the sign. */
function bareStart(ids: readonly number[]): string[] {
  const tagged = ids.length > 0 ? ` | PROSE? <[${ids}]> calls` : '';
  return [`start: calls | PROSE?${tagged}`, 'PROSE: /\\s*[^{\\s](?s:.*)/'];
}

/** Calls begin with signs that are text. What is written in thoughts is no call. */
function textStart(
  { format, thoughts }: Family,
  marks: readonly string[],
  control: ControlTokens,
  inThoughts: boolean,
): string[] {
  const others = [...control.values()];
  const other = others.length > 0 ? ` | TEXT? <[${others}]>` : '';
  const main = [`main: (head calls${other})* TEXT?`, `head[lazy]: ANY (${choice(marks)})`];
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
    const schema = { type: 'object', 'x-guidance': GUIDANCE, ...(followable(parameters, true) as object) };
    const json = `json_${place}: %json ${JSON.stringify(schema)}`;
    if (!object) return [`call_${place}: ${format.body?.(quoted(name), `json_${place}`, sign)}`, json];
    const parts = [
      '"{"',
      quoted('"name"'),
      '":"',
      quoted(JSON.stringify(name)),
      '","',
      quoted(`"${object.key}"`),
      '":"',
    ];
    const open = `OPEN_${place}: SPACE ${parts.join(' SPACE ')} SPACE`;
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
