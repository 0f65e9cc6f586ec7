/**
 * How likely a model is to write each of several texts after a prompt.
 *
 * The token sequences of the texts form a tree. At each of its forks the model is asked once for its next token; the 20
 * most likely come with it. A token that is not among them is made the next one by a bias, which its log-probability
 * does not have: a pass of one token, since the prompt is in the KV cache.
 */
import { show } from '../check.js';
import { invalidArgument, WebggufError } from '../errors.js';
import type { ChatModel } from '../openai/chat-model.js';
import type { GenerateOptions } from '../types/generate.js';
import type { Item } from './questions.js';

/** The most that `generate` gives in the place of a token. */
const MOST = 20;
/** Far above the difference of two logits that matter. */
const FORCED = 100;
/** More than this many tokens above a label's, each by 100 or more, are no language model's. */
const TRIES = 8;

/** Passes of a decision, counted. @internal */
export class Passes {
  promptTokens = 0;
  readTokens = 0;
  passes = 0;
  readonly #model: ChatModel;
  readonly #options: Pick<GenerateOptions, 'adapters' | 'signal'>;

  constructor(model: ChatModel, options: Pick<GenerateOptions, 'adapters' | 'signal'>) {
    this.#model = model;
    this.#options = options;
  }

  /** The log-probability of each label, whole, after a prompt. */
  async logprobs(where: string, prompt: string, { labels }: Item): Promise<number[]> {
    const sequences = await this.#sequences(prompt, labels);
    const begun = commonLength(sequences);
    this.promptTokens += begun;
    const tails = await this.#tails(
      where,
      labels,
      sequences.map((ids) => [...ids.subarray(begun)]),
    );
    const forks = forksOf(tails);
    const common = sequences[0]?.subarray(0, begun) ?? [];
    for (const { after, tokens, found } of forks.values()) {
      const ids = Uint32Array.of(...common, ...after);
      for (const token of tokens) if (!found.has(token)) await this.#ask(ids, token, found);
    }
    const logprob = (ids: readonly number[], at: number): number =>
      forks.get(keyOf(ids, at))?.found.get(ids[at] as number) ?? Number.NaN;
    return tails.map((ids) => ids.reduce((sum, _, at) => sum + logprob(ids, at), 0));
  }

  /** The ids of the prompt with each label behind it. */
  async #sequences(prompt: string, labels: Item['labels']): Promise<Uint32Array[]> {
    const start = await beginning(this.#model);
    const all: Uint32Array[] = [];
    for (const { text } of labels) {
      const label = await this.#model.protectedText(text, false);
      const ids = await this.#model.tokenize(prompt + label, { parseSpecial: true });
      all.push(start.length > 0 && ids[0] !== start[0] ? Uint32Array.of(...start, ...ids) : ids);
    }
    return all;
  }

  /** The ids that tell the labels apart, with the end of the text behind them where one label begins another. */
  async #tails(where: string, labels: Item['labels'], tails: readonly number[][]): Promise<readonly number[][]> {
    const known = new Map<string, number>();
    for (const [at, ids] of tails.entries()) {
      const other = known.get(ids.join());
      if (other !== undefined) {
        const names = [labels[other]?.name, labels[at]?.name].map(show).join(' and ');
        throw invalidArgument(`${where}: the labels of ${names} are the same tokens`);
      }
      known.set(ids.join(), at);
    }
    if (!tails.some((ids) => ids.some((_, at) => known.has(keyOf(ids, at))))) return tails;
    const { endOfText = '' } = this.#model.info;
    const end = await this.#model.tokenize(endOfText, { parseSpecial: true });
    if (end.length === 1) return tails.map((ids) => [...ids, ...end]);
    throw invalidArgument(`${where}: a label begins another, and the vocabulary has no token that ends a text`);
  }

  /** Finds the log-probability of `token` after `ids`, and of the most likely tokens there. */
  async #ask(ids: Uint32Array, token: number, found: Map<number, number>): Promise<void> {
    const logitBias: Record<number, number> = { [token]: FORCED };
    for (let tries = 0; tries < TRIES; tries++) {
      const { tokens = [], usage } = await this.#model.generate(ids, {
        ...this.#options,
        maxTokens: 1,
        temperature: 0,
        ignoreEos: true,
        logprobs: MOST,
        logitBias,
        draft: false,
      });
      this.passes += 1;
      this.readTokens += usage.promptTokens - usage.cachedTokens;
      const [chosen] = tokens;
      if (!chosen) break;
      for (const { id, logprob } of [chosen, ...chosen.top]) found.set(id, logprob);
      if (found.has(token)) return;
      logitBias[chosen.id] = -FORCED;
    }
    throw new WebggufError('internal', `decide: the model gave no probability for token ${token}`);
  }
}

/** A place in the labels: what is before it, and the tokens that follow. */
interface Fork {
  readonly after: readonly number[];
  readonly tokens: Set<number>;
  readonly found: Map<number, number>;
}

const keyOf = (ids: readonly number[], length: number): string => ids.slice(0, length).join();

/** Forks by the ids before them, label after label. */
function forksOf(tails: readonly (readonly number[])[]): Map<string, Fork> {
  const forks = new Map<string, Fork>();
  for (const ids of tails) {
    for (const [at, token] of ids.entries()) {
      const key = keyOf(ids, at);
      const fork = forks.get(key) ?? { after: ids.slice(0, at), tokens: new Set(), found: new Map() };
      fork.tokens.add(token);
      forks.set(key, fork);
    }
  }
  return forks;
}

/** How many ids all sequences begin with. */
function commonLength(sequences: readonly Uint32Array[]): number {
  const [first = new Uint32Array(), ...others] = sequences;
  let length = 0;
  while (length < first.length && others.every((ids) => ids[length] === first[length])) length += 1;
  return length;
}

/** The BOS token, where the model wants one. */
async function beginning(model: ChatModel): Promise<Uint32Array> {
  const [plain, whole] = [await model.tokenize('x'), await model.tokenize('x', { addSpecial: true })];
  return whole[0] === plain[0] ? new Uint32Array() : whole.slice(0, 1);
}
