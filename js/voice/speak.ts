/**
 * Speech of a text by a model with a vocoder, sentence by sentence. The model writes tokens of sound after Soprano's
 * prompt (<https://huggingface.co/ekwek/Soprano-80M>); the states from which it chose them become the sound.
 */
import { checkText } from '../check.js';
import type { Engine } from '../engine/engine.js';
import { WebggufError, invalidArgument } from '../errors.js';
import type { Generation } from '../model/generation.js';
import type { GenerateOptions } from '../types/generate.js';
import type { ModelInfo } from '../types/info.js';
import type { TokenizeOptions } from '../types/read.js';
import type { SpeakOptions, SpeechOptions, SpeechPiece } from '../types/speech.js';
import { joined } from './resample.js';

/** What speech needs of a `WasmModel`. @internal */
export interface SpeakingModel {
  readonly info: ModelInfo;
  tokenize(text: string, options: TokenizeOptions): Promise<Uint32Array>;
  generate(ids: Uint32Array, options: GenerateOptions): Generation;
  withEngine<T>(call: string, work: (engine: Engine) => Promise<T>): Promise<T>;
}

/** How Soprano's tokens are chosen where a page does not say: as its own code does. */
const SAMPLING = { temperature: 0.3, topP: 0.95, repetitionPenalty: 1.2 };

const OPTIONS = ['temperature', 'topK', 'topP', 'repetitionPenalty', 'seed', 'signal'];

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
  const sentences = sentencesOf(call, text);
  for (const sentence of sentences) {
    options.signal?.throwIfAborted();
    const samples = await spoken(model, sentence, { ...SAMPLING, ...options }, call);
    yield { samples, sampleRate, text: sentence };
  }
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
  return fileOf(format, joined(pieces), sampleRate);
}

function vocoderOf(call: string, { info }: SpeakingModel): NonNullable<ModelInfo['vocoder']> {
  if (info.vocoder) return info.vocoder;
  throw invalidArgument(`${call}: the model has no vocoder: load it with the option 'vocoder'`);
}

/** The sentences of a text that have a letter or a digit. */
function sentencesOf(call: string, text: string): string[] {
  checkText(call, text);
  const parts = [...new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text)];
  const sentences = parts.map(({ segment }) => segment.trim()).filter((part) => /[\p{L}\p{N}]/u.test(part));
  if (sentences.length > 0) return sentences;
  throw invalidArgument(`${call}: the text of ${text.length} characters has no letter and no digit to speak`);
}

async function spoken(
  model: SpeakingModel,
  sentence: string,
  options: GenerateOptions,
  call: string,
): Promise<Float32Array> {
  const prompt = await promptOf(model, sentence, call);
  const room = model.info.contextLength - prompt.length;
  if (room < 2) {
    const found = `a sentence takes ${prompt.length} tokens, the context holds ${model.info.contextLength}`;
    throw new WebggufError('context_full', `${call}: ${found}`);
  }
  const { ids } = await model.generate(prompt, { ...options, maxTokens: room });
  // The first token was chosen from the state of the prompt's last one; from the state of the last token none was.
  const read = Uint32Array.of(...prompt, ...ids.subarray(0, ids.length - 1));
  const { signal } = options;
  if (ids.length < 2) return new Float32Array(0);
  return model.withEngine(call, (engine) => engine.voice(read, prompt.length - 1, signal));
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

/** The samples as 16 bits, behind a header of WAV or alone. */
function fileOf(format: 'wav' | 'pcm', samples: Float32Array, sampleRate: number): Blob {
  const bytes = new DataView(new ArrayBuffer(2 * samples.length));
  samples.forEach((sample, at) => {
    bytes.setInt16(2 * at, Math.round(32767 * Math.max(-1, Math.min(1, sample))), true);
  });
  if (format === 'pcm') return new Blob([bytes], { type: 'audio/pcm' });
  const head = new DataView(new ArrayBuffer(44));
  [...'RIFF    WAVEfmt '].forEach((sign, at) => {
    head.setUint8(at, sign.charCodeAt(0));
  });
  const halves = (at: number, value: number): void => head.setUint16(at, value, true);
  const words = (at: number, value: number): void => head.setUint32(at, value, true);
  words(4, 36 + bytes.byteLength);
  words(16, 16);
  halves(20, 1); // integers
  halves(22, 1); // one channel
  words(24, sampleRate);
  words(28, 2 * sampleRate);
  halves(32, 2);
  halves(34, 16);
  words(36, 0x61746164); // "data"
  words(40, bytes.byteLength);
  return new Blob([head, bytes], { type: 'audio/wav' });
}
