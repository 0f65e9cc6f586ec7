/**
 * Answers of text and sound: a model like LFM3 writes and speaks in turn, what is spoken is what was just written.
 */
import { checked, show } from '../check.js';
import type { Engine } from '../engine/engine.js';
import { invalidArgument } from '../errors.js';
import { checkedGenerate, promptOf } from '../model/prompt.js';
import { GENERATE } from '../options.js';
import type { Message } from '../types/chat.js';
import type { ModelInfo } from '../types/info.js';
import type { TokenIds } from '../types/read.js';
import type { AnswerPiece, ConverseOptions } from '../types/speech.js';
import type { Begun, ToFrames } from './asked.js';
import { LFM3, NUMBERS, numberIn } from './numbers.js';
import { randomDigest, type Said } from './reader.js';
import type { Mode, Switch } from './slots.js';

/** What answers need of a `WasmModel`. @internal */
export interface ConversingModel {
  readonly info: ModelInfo;
  withEngine<T>(call: string, work: (engine: Engine) => Promise<T>): Promise<T>;
}

/** How an answer begins, and the token that says so. */
const OUTPUTS: Readonly<Record<NonNullable<ConverseOptions['output']>, readonly [Mode, string?]>> = {
  mixed: ['mixed', '<|mixed_start|>'],
  sound: ['sound', '<|audio_start|>'],
  text: ['text'],
  auto: ['text'],
};
const SWITCHES: Readonly<Record<string, Switch>> = {
  '<|mixed_start|>': 'mixed',
  '<|audio_start|>': 'sound',
  '<|text_end|>': 'over',
};
/** Bars a token. */
const NEVER = -1e9;
/** Options of `generate` that text in answers does not have: it is written token by token. */
const OTHERS = ['stop', 'ignoreEos', 'showSpecial', 'grammar', 'logprobs', 'draft', 'prediction', 'adapters'];
const NOT_HERE = [...OTHERS, 'onProgress', 'prefixCache', 'reasoningBudget'];
const TEXT = Object.fromEntries(Object.entries(GENERATE).filter(([name]) => !NOT_HERE.includes(name)));

/** See {@link WasmModel.converse}. @internal */
export async function* converse(
  model: ConversingModel,
  prompt: string | readonly Message[] | TokenIds,
  options: ConverseOptions,
): AsyncGenerator<AnswerPiece, void> {
  const { signal } = options;
  const asked = await askedOf(model, prompt, options);
  const { sampleRate = 0 } = model.info.vocoder ?? {};
  let next: ToFrames | Begun = asked;
  for (let isLast = false; !isLast; next = { begun: asked.name as string }) {
    const now = next;
    const said: Said = await model.withEngine('converse', (engine) => engine.say(now, signal));
    isLast = said.isLast;
    const { samples, text = '', id } = said;
    if (text !== '') yield { type: 'text', text, ...(id !== undefined && { id }) };
    if (samples.length > 0) yield { type: 'sound', samples, sampleRate };
  }
}

/** What the engine is asked. */
async function askedOf(
  model: ConversingModel,
  prompt: string | readonly Message[] | TokenIds,
  { output = 'mixed', sound = {}, ...others }: ConverseOptions,
): Promise<ToFrames> {
  const { vocoder, vocabularySize, contextLength, sampling } = model.info;
  if (vocoder?.projector !== LFM3) {
    const found = vocoder ? `a vocoder of kind ${vocoder.projector}` : 'no vocoder';
    throw invalidArgument(`converse: expected a model with a vocoder of kind ${LFM3}, found ${found}`);
  }
  if (!Object.hasOwn(OUTPUTS, output)) {
    throw invalidArgument(`converse: option 'output' must be ${names(OUTPUTS)}, found ${show(output)}`);
  }
  const { signal, start, ...template } = checkedGenerate({ ...sampling, ...checked('converse', others, TEXT) });
  signal?.throwIfAborted();
  const switches = await switchesOf(model);
  const [mode, begin] = OUTPUTS[output];
  const barred = output === 'text' ? Object.keys(switches).filter((id) => switches[Number(id)] !== 'over') : [];
  const { maxTokens, biases = [], ...choice } = start;
  const { source: _, grammar: _grammar, onProgress: _progress, ...plain } = choice;
  return {
    prompt: promptOf(prompt, vocabularySize, template),
    behind: Uint32Array.from(Object.keys(switches).map(Number)).filter((id) => switches[id] === begunBy(begin)),
    most: maxTokens ?? contextLength,
    name: randomDigest(),
    ...codes(sound),
    seed: start.seed as number,
    answer: { mode, switches, choice: { ...plain, biases: [...biases, ...barred.map((id) => [+id, NEVER] as const)] } },
  };
}

const begunBy = (token: string | undefined): Switch | 'none' => (token && SWITCHES[token]) || 'none';
const names = (of: object): string =>
  Object.keys(of)
    .map((name) => `'${name}'`)
    .join(', ');

/** How codes are chosen, checked. */
function codes(sound: NonNullable<ConverseOptions['sound']>): Partial<ToFrames> {
  const known = ['temperature', 'topK', 'repetitionPenalty'] as const;
  if (typeof sound !== 'object' || sound === null) {
    throw invalidArgument(`converse: option 'sound' must be an object, found ${show(sound)}`);
  }
  const unknown = Object.keys(sound).find((name) => !known.some((one) => one === name));
  if (unknown) throw invalidArgument(`converse: unknown option 'sound.${unknown}', expected ${known.join(', ')}`);
  for (const name of known) numberIn(`converse: option 'sound.${name}'`, sound[name], NUMBERS[name]);
  return sound;
}

/** The tokens that switch between text and sound. */
async function switchesOf(model: ConversingModel): Promise<Record<number, Switch>> {
  const found: Record<number, Switch> = {};
  for (const [name, does] of Object.entries(SWITCHES)) {
    const [ids, shown] = await model.withEngine('converse', async (engine) => {
      const ids = await engine.tokenize(name, false, true);
      return [ids, await engine.detokenize(ids.subarray(-1), true)] as const;
    });
    if (ids.length < 1 || shown !== name) throw invalidArgument(`converse: the model has no token ${name}`);
    found[ids.at(-1) as number] = does;
  }
  return found;
}
