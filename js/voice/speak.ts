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
import type { DetokenizeOptions, TokenizeOptions } from '../types/read.js';
import type { SpeakOptions, SpeechOptions, SpeechPiece, VoiceSound } from '../types/speech.js';
import { chunksOf } from './pocket-text.js';
import type { ToFrames } from './lfm3.js';
import type { Said, ToSay } from './reader.js';
import { joined } from './resample.js';
import { sentences } from './spoken/spoken-text.js';
import { SPEED, TimeStretch } from './stretch.js';
import { pcm16, wav } from './wav.js';

/** The projectors of Pocket TTS and of LFM3. */
const [POCKET, LFM3] = ['pockettts_gen', 'lfm3a_gen'];
/** Frames of LFM3 per second, and the most seconds of a sentence of this number of tokens. */
const FRAME_RATE = 12.5;
const secondsOf = (tokens: number): number => tokens / 2 + 4;

/** What speech needs of a `WasmModel`. @internal */
export interface SpeakingModel {
  readonly info: ModelInfo;
  readonly voices: ReadonlyMap<string, VoiceSound>;
  tokenize(text: string, options: TokenizeOptions): Promise<Uint32Array>;
  detokenize(ids: Uint32Array, options: DetokenizeOptions): Promise<string>;
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
/** Options of the vocoders that do not have these, by their projectors. */
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  [POCKET]: ['voice', 'temperature', 'seed', 'speed', 'signal'],
  [LFM3]: OPTIONS.filter((name) => name !== 'topP'),
};
/** Options that generators of sounds read, and the most that each may be. */
const NUMBERS = { temperature: 10, topK: 1e6, repetitionPenalty: 10, seed: MOST_SEED } as const;

/** See {@link WasmModel.speak}. @internal */
export async function* speak(
  model: SpeakingModel,
  text: string,
  options: SpeakOptions,
  call = 'speak',
): AsyncGenerator<SpeechPiece, void> {
  const { sampleRate, projector } = vocoderOf(call, model);
  const known = OPTIONS_OF[projector] ?? OPTIONS;
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown) throw invalidArgument(`${call}: unknown option '${unknown}', expected ${known.join(', ')}`);
  const { speed = 1, ...others } = options;
  const wrong = SPEED(speed);
  if (wrong) throw invalidArgument(`${call}: option 'speed' must be ${wrong}, found ${show(speed)}`);
  if (projector in OPTIONS_OF) checkNumbers(call, others);
  if (projector === POCKET) {
    yield* speakLatents(model, text, { ...others, speed }, call);
    return;
  }
  const say = projector === LFM3 ? framesSaid : spoken;
  for (const sentence of sentencesOf(call, text)) {
    options.signal?.throwIfAborted();
    let isFirst = true;
    const sound = say(model, sentence, others, call);
    for await (const samples of stretched(sound, sampleRate, speed)) {
      yield { samples, sampleRate, ...(isFirst && { text: sentence }) };
      isFirst = false;
    }
  }
}

/** The chunks of a text, one after the other, by Pocket TTS. */
async function* speakLatents(
  model: SpeakingModel,
  text: string,
  { speed = 1, voice, seed, temperature, signal }: SpeakOptions,
  call: string,
): AsyncGenerator<SpeechPiece, void> {
  const { sampleRate } = vocoderOf(call, model);
  const own = voiceOf(call, voice, model.voices);
  const chunks = await chunksOf(model, call, sentencesOf(call, text).join(' '));
  for (const [number, { said, ...chunk }] of chunks.entries()) {
    signal?.throwIfAborted();
    const drawn = seed === undefined ? {} : { seed: (seed + number * APART) % MOST_SEED };
    const asked = { ...chunk, ...drawn, voice: own, temperature };
    let isFirst = true;
    for await (const samples of stretched(latentsSaid(model, asked, call, signal), sampleRate, speed)) {
      yield { samples, sampleRate, ...(isFirst && { text: said }) };
      isFirst = false;
    }
  }
}

function checkNumbers(call: string, options: SpeakOptions): void {
  for (const [name, most] of Object.entries(NUMBERS)) {
    const value: unknown = options[name as keyof typeof NUMBERS];
    if (value === undefined || (typeof value === 'number' && value >= 0 && value <= most)) continue;
    throw invalidArgument(`${call}: option '${name}' must be a number from 0 to ${most}, found ${show(value)}`);
  }
}

/** The sound of the voice that is asked for, or of the first one that the model has. */
function voiceOf(call: string, asked: SpeakOptions['voice'], known: SpeakingModel['voices']): VoiceSound {
  const [first] = known.values();
  const voice = typeof asked === 'string' ? known.get(asked) : (asked ?? first);
  const isSound = voice?.samples instanceof Float32Array && typeof voice.sampleRate === 'number';
  if (isSound && voice.samples.length > 0) return voice;
  const names = known.size > 0 ? `one of ${[...known.keys()].join(', ')}` : 'a name in `voices`';
  const expected = `expected a sound { samples: Float32Array, sampleRate } of the person who speaks, or ${names}`;
  const found = voice === undefined && asked === undefined ? 'none' : show(asked ?? voice);
  throw invalidArgument(`${call}: option 'voice': ${expected}, found ${found}`);
}

/** The sound of a chunk, piece by piece. */
async function* latentsSaid(
  model: SpeakingModel,
  asked: ToSay,
  call: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Float32Array> {
  let next: ToSay | undefined = asked;
  for (let isLast = false; !isLast; next = undefined) {
    const now: ToSay | undefined = next;
    const said: Said = await model.withEngine(call, (engine) => engine.say(now, signal));
    isLast = said.isLast;
    if (said.samples.length > 0) yield said.samples;
  }
}

/** The sound of a sentence, piece by piece, by LFM3. */
async function* framesSaid(
  model: SpeakingModel,
  sentence: string,
  { signal, voice: _, speed: _speed, ...sampling }: SpeakOptions,
  call: string,
): AsyncGenerator<Float32Array> {
  const [before, text, behind] = (await Promise.all([
    model.tokenize('<|im_start|>user\n', { parseSpecial: true, addSpecial: true }),
    model.tokenize(sentence, {}),
    model.tokenize('<|im_end|>\n<|im_start|>assistant\n<|audio_start|>', { parseSpecial: true }),
  ])) as [Uint32Array, Uint32Array, Uint32Array];
  const prompt = Uint32Array.of(...before, ...text, ...behind);
  const last = await model.detokenize(prompt.subarray(-1), { showSpecial: true });
  if (last !== '<|audio_start|>') throw invalidArgument(`${call}: the model has no token <|audio_start|>`);
  const most = Math.ceil(secondsOf(prompt.length) * FRAME_RATE);
  const asked: ToFrames = { ...sampling, prompt, most };
  yield* latentsSaid(model, asked, call, signal);
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
    const sampling = { ...SAMPLING, ...options, ...drawn, maxTokens };
    const { ids: more, finishReason } = await model.generate(ids, sampling);
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
