/**
 * From log-probabilities of labels to answers.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { Item } from './questions.js';
import type { Answer, Calibration } from './types.js';

/** Below this, two probabilities differ by rounding alone. */
const TIE = 1e-9;

/** Log-probabilities that are shared out among the labels alone. @internal */
export function logDistribution(scores: readonly number[]): number[] {
  const top = Math.max(...scores);
  const sum = scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
  return scores.map((score) => score - top - Math.log(sum));
}

/** The answer to each question, by its name. @internal */
export function answersOf(
  call: string,
  items: readonly Item[],
  scores: readonly (readonly number[])[],
  calibration: Calibration | undefined,
): Record<string, Answer> {
  const names = new Set(items.map(({ name }) => name));
  const strange = Object.keys(calibration ?? {}).find((name) => !names.has(name));
  if (strange !== undefined) throw invalidArgument(`${call}: 'calibration' has the unknown question ${show(strange)}`);
  return Object.fromEntries(
    [...names].map((name) => {
      const own = items.flatMap((item, at) => (item.name === name ? [{ item, scores: scores[at] ?? [] }] : []));
      return [name, answerOf(`${call}: question ${show(name)}`, own, calibration && (calibration[name] ?? {}))];
    }),
  );
}

/** An item with the log-probabilities of its labels. */
interface Scored {
  readonly item: Item;
  readonly scores: readonly number[];
}

function answerOf(
  where: string,
  own: readonly Scored[],
  offsets: Readonly<Record<string, number>> | undefined,
): Answer {
  const [{ item, scores }] = own as readonly [Scored];
  const { question, labels } = item;
  const isMultiple = question.type === 'multiple';
  const names = isMultiple ? own.map(({ item: { option } }) => option as string) : labels.map(({ name }) => name);
  if (offsets) checkOffsets(where, names, offsets);
  if (isMultiple) {
    const probabilities = own.map(({ item: { option = '' }, scores: [yes = 0, no = 0] }) => {
      return [option, 1 / (1 + Math.exp(no - yes + (offsets?.[option] ?? 0)))] as const;
    });
    const { threshold = 0.5 } = question;
    const choices = probabilities.flatMap(([option, probability]) => (probability >= threshold ? [option] : []));
    return { type: 'multiple', choices, probabilities: Object.fromEntries(probabilities) };
  }
  const values = logDistribution(scores.map((score, at) => score - (offsets?.[names[at] as string] ?? 0))).map(
    Math.exp,
  );
  if (question.type === 'boolean') return { type: 'boolean', probability: values[0] as number };
  const probabilities = Object.fromEntries(names.map((name, at) => [name, values[at] as number]));
  if (question.type === 'choice') return { type: 'choice', choice: bestOf(where, names, values), probabilities };
  return { type: 'score', score: values.reduce((sum, value, level) => sum + level * value, 0), probabilities };
}

/** The most likely one; a tie is no decision. */
function bestOf(where: string, names: readonly string[], values: readonly number[]): string {
  const top = Math.max(...values);
  const best = names.filter((_, at) => top - (values[at] as number) < TIE);
  if (best.length === 1) return best[0] as string;
  throw invalidArgument(`${where}: ${best.map(show).join(' and ')} are equally likely, ${top.toFixed(3)} each`);
}

function checkOffsets(where: string, names: readonly string[], offsets: Readonly<Record<string, number>>): void {
  const known = names.join(', ');
  const unknown = Object.keys(offsets).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw invalidArgument(`${where}: 'calibration' has the unknown label ${show(unknown)}; known are ${known}`);
  }
  const missing = names.find((name) => !Number.isFinite(offsets[name]));
  if (missing === undefined) return;
  throw invalidArgument(`${where}: 'calibration' has no number for ${show(missing)}; it needs ${known}`);
}
