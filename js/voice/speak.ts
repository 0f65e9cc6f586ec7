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
import type { Begun, ToSay } from './asked.js';
import { LFM3, MOST_SEED, NUMBERS, numberIn, POCKET } from './numbers.js';
import { chunksOf } from './pocket-text.js';
import { randomDigest, type Said } from './reader.js';
import { joined } from './resample.js';
import { sentences } from './spoken/spoken-text.js';
import { SPEED, TimeStretch } from './stretch.js';
import { pcm16, wav } from './wav.js';

/** Frames of LFM3 per second, tokens around a text, and the most seconds of this number of tokens. */
const [FRAME_RATE, AROUND] = [12.5, 9];
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

/** How Soprano's tokens are chosen where neither a page nor the file says: as its own code does. */
const SAMPLING = { temperature: 0.3, topP: 0.95, repetitionPenalty: 1.2 };

/** What Soprano speaks. */
const LANGUAGE = 'en';
/** Tokens before the first piece of a sentence, and before further ones: 1.5 and 6 seconds of sound. */
const [FIRST, NEXT] = [24, 96];
/** Seeds of pieces are this far apart. */
const APART = 0x9e3779b1;

const OPTIONS = ['temperature', 'topK', 'topP', 'repetitionPenalty', 'seed', 'speed', 'signal'];
/** Options that a template of the file for texts that are spoken reads. */
const READ_BY_TEMPLATE = ['voice', 'language'] as const;
/** Options of the vocoders that do not have these, by their projectors. */
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  [POCKET]: ['voice', 'temperature', 'seed', 'speed', 'signal'],
  [LFM3]: OPTIONS.filter((name) => name !== 'topP'),
};

/** See {@link WasmModel.speak}. @internal */
export async function* speak(
  model: SpeakingModel,
  text: string,
  options: SpeakOptions,
  call = 'speak',
): AsyncGenerator<SpeechPiece, void> {
  const { sampleRate, projector } = vocoderOf(call, model);
  const { speechTemplate } = model.info;
  const reads = projector === LFM3 && speechTemplate !== undefined ? READ_BY_TEMPLATE : [];
  const known = [...(OPTIONS_OF[projector] ?? OPTIONS), ...reads];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown) throw invalidArgument(`${call}: unknown option '${unknown}', expected ${known.join(', ')}`);
  const { speed = 1, ...others } = options;
  const wrong = SPEED(speed);
  if (wrong) throw invalidArgument(`${call}: option 'speed' must be ${wrong}, found ${show(speed)}`);
  if (projector in OPTIONS_OF) checkNumbers(call, others);
  for (const name of reads) checkName(call, name, others[name]);
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

function checkName(call: string, name: string, value: unknown): void {
  if (value === undefined || typeof value === 'string') return;
  throw invalidArgument(`${call}: option '${name}' must be a string, which the template reads, found ${show(value)}`);
}

function checkNumbers(call: string, options: SpeakOptions): void {
  for (const [name, most] of Object.entries(NUMBERS)) {
    numberIn(`${call}: option '${name}'`, options[name as keyof typeof NUMBERS], most);
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
  const name = randomDigest();
  let next: ToSay | Begun = { ...asked, name };
  for (let isLast = false; !isLast; next = { begun: name }) {
    const now = next;
    const said: Said = await model.withEngine(call, (engine) => engine.say(now, signal));
    isLast = said.isLast;
    if (said.samples.length > 0) yield said.samples;
  }
}

/** The sound of a sentence, piece by piece, by LFM3. */
async function* framesSaid(
  model: SpeakingModel,
  sentence: string,
  { signal, voice = '', language = '', speed: _, ...sampling }: SpeakOptions,
  call: string,
): AsyncGenerator<Float32Array> {
  const text = await model.tokenize(sentence, {});
  const isTemplated = model.info.speechTemplate !== undefined;
  const prompt = await (isTemplated
    ? templated(model, sentence, { voice, language }, call)
    : inChatMl(model, text, call));
  const most = Math.ceil(secondsOf(text.length + AROUND) * FRAME_RATE);
  yield* latentsSaid(model, { ...sampling, prompt, most }, call, signal);
}

/** The token behind which LFM3 speaks. */
const SOUND = '<|audio_start|>';

/** A text as the message of a user, in ChatML, which the model is to answer in sound. */
async function inChatMl(model: SpeakingModel, text: Uint32Array, call: string): Promise<Uint32Array> {
  const [before, behind] = (await Promise.all([
    model.tokenize('<|im_start|>user\n', { parseSpecial: true, addSpecial: true }),
    model.tokenize(`<|im_end|>\n<|im_start|>assistant\n${SOUND}`, { parseSpecial: true }),
  ])) as [Uint32Array, Uint32Array];
  const last = await model.detokenize(behind.subarray(-1), { showSpecial: true });
  if (last !== SOUND) throw invalidArgument(`${call}: the model has no token ${SOUND}`);
  return Uint32Array.of(...before, ...text, ...behind);
}

/** The file's own prompt for a text that is to be spoken. */
async function templated(
  model: SpeakingModel,
  sentence: string,
  variables: Readonly<Record<string, unknown>>,
  call: string,
): Promise<string> {
  const conversation = { messages: [{ role: 'user', content: sentence }], isSpeech: true, variables };
  const prompt = await model.withEngine(call, (engine) => engine.applyChatTemplate(conversation));
  if (prompt.endsWith(SOUND)) return prompt;
  throw invalidArgument(
    `${call}: the template 'tts' of the file ends with ${show(prompt.slice(-16))}, expected ${SOUND}`,
  );
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
    const sampling = { ...SAMPLING, ...model.info.sampling, ...options, ...drawn, maxTokens };
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
