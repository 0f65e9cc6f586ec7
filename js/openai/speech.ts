/**
 * `audio.speech.create` over a model that speaks.
 */
import { show, signalOption } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { SpeechPiece } from '../types/speech.js';
import { base64 } from '../base64.js';
import { atRate } from '../voice/resample.js';
import { SPEED } from '../voice/stretch.js';
import { pcm16, wavHeader } from '../voice/wav.js';
import { begun, CORS } from './http.js';
import type { Speech, SpeechRequest } from './speech-types.js';
import type { RequestOptions } from './types.js';

/** A model that speaks, as far as it is needed here. @internal */
export interface SpeakingModel {
  speak(
    text: string,
    options: { signal?: AbortSignal | undefined; speed?: number | undefined; voice?: string | undefined },
  ): AsyncIterable<SpeechPiece>;
  /** The voices by name; none where a model has one of its own. */
  readonly voices?: ReadonlyMap<string, unknown>;
}

const FIELDS = ['input', 'model', 'voice', 'response_format', 'stream_format', 'speed'];
/** Samples each second of OpenAI's `pcm`. */
const PCM_RATE = 24_000;

function checkSpeech(request: SpeechRequest): SpeechRequest {
  const refuse = (message: string): never => {
    throw invalidArgument(`audio.speech.create: ${message}`);
  };
  if (typeof request !== 'object' || request === null) refuse(`expected an object, found ${show(request)}`);
  const unknown = Object.keys(request).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) refuse(`unknown field '${unknown}', known are ${FIELDS.join(', ')}`);
  const { input, response_format: format, stream_format: stream, speed } = request;
  if (typeof input !== 'string') refuse(`field 'input' must be a string, found ${show(input)}`);
  if (!['wav', 'pcm'].includes(format ?? 'wav')) {
    refuse(`field 'response_format' must be 'wav' or 'pcm', found ${show(format)}`);
  }
  if (!['audio', 'sse'].includes(stream ?? 'audio')) {
    refuse(`field 'stream_format' must be 'audio' or 'sse', found ${show(stream)}`);
  }
  const name = nameOf(request.voice);
  if (name !== undefined && typeof name !== 'string') refuse(`field 'voice' must be a name, found ${show(name)}`);
  const wrong = SPEED(speed ?? 1);
  if (wrong) refuse(`field 'speed' must be ${wrong}, found ${show(speed)}`);
  return request;
}

/** The name of a voice. */
const nameOf = (voice: SpeechRequest['voice']): string | undefined =>
  (typeof voice === 'object' ? voice?.id : voice) ?? undefined;

/** @internal */
export class LocalSpeech implements Speech {
  readonly #model: SpeakingModel;

  constructor(model: SpeakingModel) {
    this.#model = model;
  }

  async create(body: SpeechRequest, options: RequestOptions = {}): Promise<Response> {
    const { input, response_format: format, stream_format: stream, speed } = checkSpeech(body);
    const signal = signalOption('audio.speech.create', { signal: options?.signal ?? undefined });
    const voice = this.#model.voices?.size ? nameOf(body.voice) : undefined;
    const pieces = this.#model.speak(input, { signal, speed: speed ?? 1, ...(voice !== undefined && { voice }) });
    // What is wrong with the request or the model is known by then.
    const sound = await begun(bytesOf(pieces, format ?? 'wav'), 0);
    const parts = stream === 'sse' ? eventsOf(sound) : sound;
    const type = stream === 'sse' ? 'text/event-stream' : format === 'pcm' ? 'audio/pcm' : 'audio/wav';
    return new Response(streamOf(parts), { headers: { ...CORS, 'content-type': type } });
  }
}

/** The sound as it is made: the header of a file, and samples of 16 bits. */
async function* bytesOf(
  pieces: AsyncIterable<SpeechPiece>,
  format: 'wav' | 'pcm',
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let isFirst = true;
  for await (const { samples, sampleRate } of atRate(pieces, format === 'pcm' ? PCM_RATE : undefined)) {
    if (format === 'wav' && isFirst) yield wavHeader(sampleRate, 'pcm16');
    isFirst = false;
    yield pcm16(samples);
  }
}

async function* eventsOf(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const event = (data: object): Uint8Array<ArrayBuffer> => encoder.encode(`data: ${JSON.stringify(data)}\n\n`);
  for await (const part of parts) yield event({ type: 'speech.audio.delta', audio: base64(part) });
  yield event({ type: 'speech.audio.done' });
}

function streamOf(parts: AsyncIterable<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const iterator = parts[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
