/**
 * Speech of a text by a model with a vocoder, sentence by sentence. The model writes tokens of sound after Soprano's
 * prompt (<https://huggingface.co/ekwek/Soprano-80M>); the states from which it chose them become the sound.
 */
import { checkText, show } from '../check.js';
import type { Engine } from '../engine/engine.js';
import { WebggufError, invalidArgument } from '../errors.js';
import type { Generation } from '../model/generation.js';
import type { GenerateOptions } from '../types/generate.js';
import type { ModelInfo } from '../types/info.js';
import type { TokenizeOptions } from '../types/read.js';
import type { SpeakOptions, SpeechOptions, SpeechPiece } from '../types/speech.js';
import { joined } from './resample.js';
import { sentences } from './spoken/spoken-text.js';
import { SPEED, TimeStretch } from './stretch.js';
import { pcm16, wav } from './wav.js';

/** What speech needs of a `WasmModel`. @internal */
export interface SpeakingModel {
  readonly info: ModelInfo;
  tokenize(text: string, options: TokenizeOptions): Promise<Uint32Array>;
  generate(ids: Uint32Array, options: GenerateOptions): Generation;
  withEngine<T>(call: string, work: (engine: Engine) => Promise<T>): Promise<T>;
}

/** How Soprano's tokens are chosen where a page does not say: as its own code does. */
const SAMPLING = { temperature: 0.3, topP: 0.95, repetitionPenalty: 1.2 };

/** What Soprano speaks. */
const LANGUAGE = 'en';
/** Tokens before the first piece of a sentence, and before further ones: 1.5 and 6 seconds of sound. */
const [FIRST, NEXT] = [24, 96];
/** Seeds of pieces are this far apart. */
const APART = 0x9e3779b1;
const MOST_SEED = 2 ** 32;

const OPTIONS = ['temperature', 'topK', 'topP', 'repetitionPenalty', 'seed', 'speed', 'signal'];

/** See {@link WasmModel.speak}. @internal */
export async function* speak(
  model: SpeakingModel,
  text: string,
  options: SpeakOptions,
  call = 'speak',
): AsyncGenerator<SpeechPiece, void> {
  const { sampleRate } = vocoderOf(call, model);
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown) throw invalidArgument(`${call}: unknown option '${unknown}', expected ${OPTIONS.join(', ')}`);
  const { speed = 1, ...others } = options;
  const wrong = SPEED(speed);
  if (wrong) throw invalidArgument(`${call}: option 'speed' must be ${wrong}, found ${show(speed)}`);
  for (const sentence of sentencesOf(call, text)) {
    options.signal?.throwIfAborted();
    let isFirst = true;
    const sound = spoken(model, sentence, { ...SAMPLING, ...others }, call);
    for await (const samples of stretched(sound, sampleRate, speed)) {
      yield { samples, sampleRate, ...(isFirst && { text: sentence }) };
      isFirst = false;
    }
  }
}

/** A sentence `speed` times as fast; it begins and ends as it did. */
async function* stretched(
  sound: AsyncIterable<Float32Array>,
  sampleRate: number,
  speed: number,
): AsyncGenerator<Float32Array> {
  const stretch = new TimeStretch(sampleRate, speed);
  for await (const samples of sound) {
    const made = stretch.push(samples);
    if (made.length > 0) yield made;
  }
  const rest = stretch.end();
  if (rest.length > 0) yield rest;
}

/** See {@link WasmModel.speech}. @internal */
export async function speech(model: SpeakingModel, text: string, options: SpeechOptions): Promise<Blob> {
  const { format = 'wav', ...others } = options;
  if (format !== 'wav' && format !== 'pcm') {
    throw invalidArgument(`speech: option 'format': expected 'wav' or 'pcm', found '${String(format)}'`);
  }
  const { sampleRate } = vocoderOf('speech', model);
  const pieces: Float32Array[] = [];
  for await (const { samples } of speak(model, text, others, 'speech')) pieces.push(samples);
  const samples = joined(pieces);
  return format === 'pcm' ? new Blob([pcm16(samples)], { type: 'audio/pcm' }) : wav({ samples, sampleRate });
}

function vocoderOf(call: string, { info }: SpeakingModel): NonNullable<ModelInfo['vocoder']> {
  if (info.vocoder) return info.vocoder;
  throw invalidArgument(`${call}: the model has no vocoder: load it with the option 'vocoder'`);
}

/** The sentences of a text that have a letter or a digit. */
function sentencesOf(call: string, text: string): string[] {
  checkText(call, text);
  const found = sentences(text, LANGUAGE).filter((part) => /[\p{L}\p{N}]/u.test(part));
  if (found.length > 0) return found;
  throw invalidArgument(`${call}: the text of ${text.length} characters has no letter and no digit to speak`);
}

/** The sound of a sentence, piece by piece. */
async function* spoken(
  model: SpeakingModel,
  sentence: string,
  { seed, ...options }: SpeakOptions,
  call: string,
): AsyncGenerator<Float32Array> {
  const prompt = await promptOf(model, sentence, call);
  const room = model.info.contextLength - prompt.length;
  if (room < 2) {
    const found = `a sentence takes ${prompt.length} tokens, the context holds ${model.info.contextLength}`;
    throw new WebggufError('context_full', `${call}: ${found}`);
  }
  let ids = prompt;
  let after = 0;
  for (let part = 0, isLast = false; !isLast; part++) {
    const maxTokens = Math.min(room + prompt.length - ids.length, part === 0 ? FIRST : NEXT);
    const drawn = seed === undefined ? {} : { seed: part === 0 ? seed : (seed + part * APART) % MOST_SEED };
    const { ids: more, finishReason } = await model.generate(ids, { ...options, ...drawn, maxTokens });
    ids = Uint32Array.of(...ids, ...more);
    isLast = finishReason !== 'length' || ids.length === room + prompt.length;
    if (ids.length === prompt.length) return;
    // The first token was chosen from the state of the prompt's last one; from the state of the last token none was.
    const read = ids.subarray(0, ids.length - 1);
    const wanted = { after, isLast };
    const samples = await model.withEngine(call, (engine) =>
      engine.voice(read, prompt.length - 1, wanted, options.signal),
    );
    after += samples.length;
    if (samples.length > 0) yield samples;
  }
}

/** `[STOP][TEXT]`, the sentence, `[START]`. */
async function promptOf(model: SpeakingModel, sentence: string, call: string): Promise<Uint32Array> {
  const [before, text, behind] = (await Promise.all([
    model.tokenize('[STOP][TEXT]', { parseSpecial: true }),
    model.tokenize(sentence, {}),
    model.tokenize('[START]', { parseSpecial: true }),
  ])) as [Uint32Array, Uint32Array, Uint32Array];
  if (before.length === 2 && behind.length === 1) return Uint32Array.of(...before, ...text, ...behind);
  const found = `[STOP][TEXT][START] are ${before.length + behind.length} tokens, expected 3`;
  throw invalidArgument(`${call}: the model does not write Soprano's tokens: ${found}`);
}
