/**
 * Questions about an input, answered by the log-probabilities of labels.
 */
import { checkText, show } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { ChatModel } from '../openai/chat-model.js';
import { prepare } from '../openai/prepare.js';
import type { Message } from '../types/chat.js';
import { answersOf, logDistribution } from './answers.js';
import { type Item, itemsOf } from './questions.js';
import { Passes } from './score.js';
import type { Calibration, DecideOptions, Decision, Questions } from './types.js';

/**
 * Answers questions about an input: each answer has the probability of every label, as the softmax of the labels'
 * log-probabilities.
 *
 * @param model a model that writes text
 * @param options see {@link DecideOptions}
 * @returns see {@link Decision}
 * @throws {WebggufError} `invalid_argument`: a question without a text or with fewer than two answers, labels that are
 *   unknown, the same, or equally likely; the errors of `generate`
 * @throws the reason of `options.signal` when that fires
 *
 * @example
 * const { answers } = await decide(model, {
 *   input: mail,
 *   questions: {
 *     team: { type: 'choice', instructions: 'Which team should answer?', criteria: ['billing', 'support'] },
 *     urgent: { type: 'boolean', instructions: 'Is it urgent?' },
 *   },
 * });
 * if (answers.urgent.probability > 0.8) notify(answers.team.choice);
 */
export async function decide<const Q extends Questions>(
  model: ChatModel,
  options: DecideOptions<Q>,
): Promise<Decision<Q>> {
  const { items, passes, scores } = await scored('decide', model, options);
  const answers = answersOf('decide', items, scores, options.calibration) as Decision<Q>['answers'];
  const { promptTokens, readTokens, passes: count } = passes;
  return { answers, usage: { promptTokens, readTokens, passes: count } };
}

/** Options of {@link calibrate}: also all of {@link decide}. */
export interface CalibrateOptions extends Omit<DecideOptions, 'input' | 'calibration'> {
  /**
   * An input that says nothing (default `N/A`), or several real ones, some 10, that have all kinds of answers: their
   * mean is taken.
   */
  readonly input?: string | readonly string[] | undefined;
}

/**
 * A model's leaning towards one answer or another, whatever the input says, which {@link decide} takes away with the
 * option `calibration`. Small models need that (Zhao et al. 2021, https://arxiv.org/abs/2102.09690; of several inputs
 * Zhou et al. 2023, https://arxiv.org/abs/2309.17249).
 *
 * @param options see {@link CalibrateOptions}
 * @throws {WebggufError} as {@link decide}
 *
 * @example
 * const calibration = await calibrate(model, { questions });
 * for (const input of mails) show(await decide(model, { input, questions, calibration }));
 */
export async function calibrate(
  model: ChatModel,
  { input = 'N/A', ...options }: CalibrateOptions,
): Promise<Calibration> {
  const inputs = typeof input === 'string' ? [input] : input;
  if (!Array.isArray(inputs) || inputs.length === 0) {
    throw invalidArgument(`calibrate: 'input' must be a text, or an array of texts, found ${show(inputs)}`);
  }
  const runs: number[][][] = [];
  for (const text of inputs) runs.push((await scored('calibrate', model, { input: text, ...options })).scores);
  const found = new Map<string, (readonly [string, number])[]>();
  for (const [at, { name, option, labels }] of itemsOf('calibrate', options.questions).entries()) {
    const values = meanOf(runs.map((scores) => logDistribution(scores[at] as readonly number[])));
    const [yes = 0, no = 0] = values;
    const own = labels.map((label, place) => [label.name, values[place] as number] as const);
    const known = found.get(name) ?? [];
    found.set(name, option === undefined ? own : [...known, [option, yes - no]]);
  }
  return Object.fromEntries([...found].map(([name, values]) => [name, Object.fromEntries(values)]));
}

/** The logarithm of the mean of distributions. */
function meanOf(distributions: readonly (readonly number[])[]): number[] {
  const [first = []] = distributions;
  return first.map((_, at) => {
    const sum = distributions.reduce((sum, values) => sum + Math.exp(values[at] as number), 0);
    return Math.log(sum / distributions.length);
  });
}

/** The log-probability of each label of each item. */
async function scored(
  call: string,
  model: ChatModel,
  options: DecideOptions,
): Promise<{ items: Item[]; passes: Passes; scores: number[][] }> {
  const { input, questions, adapters, signal } = options ?? {};
  checkText(`${call}: input`, input);
  const items = itemsOf(call, questions);
  const passes = new Passes(model, { adapters, signal });
  const scores: number[][] = [];
  for (const item of items) {
    signal?.throwIfAborted();
    const where = `${call}: question ${show(item.name)}`;
    const prompt = await promptOf(model, options, item, where);
    const found = await passes.logprobs(where, prompt, item);
    if (found.some(Number.isNaN)) throw invalidArgument(`${where}: the model gives a label no probability`);
    scores.push(found);
  }
  return { items, passes, scores };
}

/** The prompt up to where the answer begins: thoughts are closed. */
async function promptOf(model: ChatModel, options: DecideOptions, item: Item, where: string): Promise<string> {
  const { input, system, layout = usual } = options;
  const { name, question, option, task, labels } = item;
  const made = layout({ input, system, name, question, option, task, labels: labels.map(({ text }) => text) });
  if (typeof made === 'string') return made;
  const { prompt } = await prepare(model, { messages: made }, { prefix: '' });
  if (typeof prompt === 'string') return prompt;
  throw invalidArgument(`${where}: 'layout' gave images or sounds, and decisions are of texts`);
}

/** The input comes first: it is the same for all questions. */
function usual({ input, system, task }: { input: string; system: string | undefined; task: string }): Message[] {
  const first: Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  return [...first, { role: 'user', content: `${input}\n\n${task}` }];
}
