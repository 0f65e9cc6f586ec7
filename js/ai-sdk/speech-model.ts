/**
 * `SpeechModelV4`, and its versions 2 and 3, over a model with a vocoder that is loaded at the first call.
 */
import type { LazyModel } from '../model/lazy-model.js';
import type { WasmModel } from '../model/model.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { SpeakOptions } from '../types/speech.js';
import { atRate, joined } from '../voice/resample.js';
import { complete } from '../voice/said.js';
import type { SoundPiece } from '../voice/types.js';
import { pcm16 } from '../voice/wav.js';
import { partStream } from './part-stream.js';
import { within } from './request.js';
import type {
  SpecificationVersion,
  SpeechCall,
  SpeechStreamCall,
  SpeechStreamPart,
  Warning,
  WarningV2,
  WebggufSpeechModel,
} from './types.js';
import { warningOf } from './version-2.js';

/** What the models that speak here speak. */
const LANGUAGE = 'en';
/** Samples each second of `pcm`, as OpenAI has it: the call does not say a rate. */
const PCM_RATE = 24_000;

type Settings = Omit<SpeechStreamCall, 'text'>;

/** @internal */
export class SpeechModel implements Omit<WebggufSpeechModel, 'specificationVersion'> {
  readonly specificationVersion: SpecificationVersion;
  readonly provider = 'webgguf.speech';
  readonly modelId: string;
  readonly #lazy: LazyModel;

  constructor(specificationVersion: SpecificationVersion, modelId: string, lazy: LazyModel) {
    knowItself(this);
    this.specificationVersion = specificationVersion;
    this.modelId = modelId;
    this.#lazy = lazy;
  }

  async doGenerate({ text, outputFormat, ...call }: SpeechCall): ReturnType<WebggufSpeechModel['doGenerate']> {
    const warnings: Warning[] = [];
    const model = await this.#lazy.load(call.abortSignal);
    const options = optionsOf(model, call, warnings);
    if (outputFormat !== undefined && outputFormat !== 'wav' && outputFormat !== 'pcm') {
      const details = `${outputFormat} is not there, known are wav and pcm: wav taken`;
      warnings.push({ type: 'unsupported', feature: 'outputFormat', details });
    }
    const audio = outputFormat === 'pcm' ? await samplesOf(model, text, options) : await fileOf(model, text, options);
    const told = this.specificationVersion === 'v2' ? warnings.map(warningOf) : warnings;
    const response = { timestamp: new Date(), modelId: this.modelId };
    // Which of the two it is, the type of the provider says.
    return { audio, warnings: told as Warning[] & WarningV2[], response };
  }

  async doStream(call: SpeechStreamCall): ReturnType<WebggufSpeechModel['doStream']> {
    const warnings: Warning[] = [];
    const model = await this.#lazy.load(call.abortSignal);
    const options = optionsOf(model, call, warnings);
    const { type = 'audio/pcm', rate } = call.outputFormat ?? {};
    if (type !== 'audio/pcm') {
      warnings.push({ type: 'unsupported', feature: 'outputFormat', details: `${type}: audio/pcm taken` });
    }
    const parts = this.#parts(model, call.text, options, rate);
    const failed = (error: unknown): SpeechStreamPart[] => [{ type: 'error', error }];
    const stream = partStream<SpeechStreamPart>({ type: 'stream-start', warnings }, parts, failed, call.abortSignal);
    return { stream, response: { modelId: this.modelId } };
  }

  /** Each sentence is spoken once it is whole. */
  async *#parts(
    model: WasmModel,
    text: SpeechStreamCall['text'],
    options: SpeakOptions,
    rate: number | undefined,
  ): AsyncGenerator<SpeechStreamPart> {
    yield { type: 'response-metadata', timestamp: new Date(), modelId: this.modelId };
    let inputCharacters = 0;
    const spoken = async function* (): AsyncGenerator<SoundPiece> {
      for await (const sentence of sentencesOf(text)) {
        inputCharacters += sentence.length;
        if (/[\p{L}\p{N}]/u.test(sentence)) yield* model.speak(sentence, options);
      }
    };
    for await (const { samples, sampleRate } of atRate(spoken(), rate)) {
      yield { type: 'audio', audio: pcm16(samples), audioFormat: { type: 'audio/pcm', rate: sampleRate } };
    }
    yield { type: 'finish', usage: { inputCharacters } };
  }
}
throughProxies(SpeechModel);

/** What a call says as options of `speak`; what it cannot follow is a warning. */
function optionsOf(model: WasmModel, call: Settings, warnings: Warning[]): SpeakOptions {
  const ignore = (feature: string, details: string): void => {
    warnings.push({ type: 'unsupported', feature, details });
  };
  const { voice } = call;
  const isKnown = voice !== undefined && model.voices.size > 0;
  if (voice !== undefined && !isKnown) ignore('voice', 'the model has one voice, or none in `voices`');
  if (call.instructions !== undefined) ignore('instructions', 'the model follows none');
  const { language = 'auto' } = call;
  const spoken = languageOf(model);
  const isSpoken = language === 'auto' || spoken === undefined || nameOf(language) === spoken;
  if (!isSpoken) ignore('language', `the model speaks ${spoken}, asked for is ${language}`);
  const further = call.providerOptions?.webgguf as Partial<SpeakOptions> | undefined;
  const speed = within('speed', call.speed, [0.25, 4], warnings);
  return { ...further, ...(isKnown && { voice }), speed, signal: call.abortSignal };
}

/** The language that a model speaks, by its English name: `english_2026-01` is a model of Pocket TTS. */
function languageOf({ info }: WasmModel): string | undefined {
  if (info.vocoder?.projector !== 'pockettts_gen') return nameOf(LANGUAGE);
  return info.vocoder.variant?.split('_')[0];
}

/** The English name of a language, in small letters. */
function nameOf(tag: string): string | undefined {
  const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  try {
    return names.of(tag.split('-')[0] as string)?.toLowerCase();
  } catch {
    return undefined;
  }
}

async function fileOf(model: WasmModel, text: string, options: SpeakOptions): Promise<Uint8Array> {
  return new Uint8Array(await (await model.speech(text, options)).arrayBuffer());
}

async function samplesOf(model: WasmModel, text: string, options: SpeakOptions): Promise<Uint8Array> {
  const pieces: Float32Array[] = [];
  for await (const { samples } of atRate(model.speak(text, options), PCM_RATE)) pieces.push(samples);
  return pcm16(joined(pieces));
}

async function* sentencesOf(text: SpeechStreamCall['text']): AsyncGenerator<string> {
  const reader = text.getReader();
  let held = '';
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      held += part.value.text;
      const whole = complete(held, LANGUAGE);
      yield* whole;
      held = held.slice(whole.join('').length);
    }
    yield held;
  } finally {
    reader.releaseLock();
  }
}
