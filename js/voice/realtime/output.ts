/**
 * The items of an answer while they are written: a message, as text or with a voice, and calls of tools.
 */
import { base64 } from '../../base64.js';
import { Resampler } from '../resample.js';
import { complete } from '../said.js';
import { sentences, spokenText } from '../spoken/spoken-text.js';
import type { SoundPiece } from '../types.js';
import type { SpeakingModel } from '../voices.js';
import { pcm16 } from '../wav.js';
import type { Entry, SaidSentence } from './items.js';
import type { ResponseRun } from './response.js';
import { PCM_RATE } from './session.js';
import type { AssistantContent, Happening, RealtimeItem, RealtimeSession } from './types.js';

/** Who makes an answer, and where it goes. @internal */
export interface Outlet {
  /** Who says what is written; without it the sound comes with the text, or there is none. */
  readonly voice: SpeakingModel | undefined;
  readonly language: string;
  emit(event: Happening): void;
  newId(kind: string): string;
  /** An item of the conversation has begun ... */
  added(entry: Entry): void;
  /** ... and is whole. */
  done(item: RealtimeItem): void;
}

/** An item as it is now: events keep it, and it changes. @internal */
export function copyOf(item: RealtimeItem): RealtimeItem {
  return item.type === 'message'
    ? ({ ...item, content: item.content.map((part) => ({ ...part })) } as RealtimeItem)
    : { ...item };
}

type Where = { response_id: string; item_id: string; output_index: number };

/** Tells that an item of a response has begun. */
function begin(run: ResponseRun, outlet: Outlet, entry: Entry): Where {
  const { item } = entry;
  const where = { response_id: run.response.id, item_id: item.id, output_index: run.response.output.length };
  run.response.output.push(item);
  const { item_id: _, ...place } = where;
  outlet.emit({ type: 'response.output_item.added', ...place, item: copyOf(item) });
  outlet.added(entry);
  return where;
}

function end(outlet: Outlet, { item_id: _, ...place }: Where, item: RealtimeItem): void {
  outlet.emit({ type: 'response.output_item.done', ...place, item: copyOf(item) });
  outlet.done(item);
}

/** @internal */
export class OutputMessage {
  readonly #run: ResponseRun;
  readonly #outlet: Outlet;
  readonly #item: Extract<RealtimeItem, { role: 'assistant' }>;
  readonly #part: AssistantContent;
  readonly #where: Where & { content_index: number };
  readonly #said: { text: string; samples: number }[] = [];
  readonly #speed: number;
  #resampler: Resampler | undefined;
  /** The text of which no sentence was said yet. */
  #waiting = '';
  #isOver = false;

  constructor(run: ResponseRun, outlet: Outlet, isSpoken: boolean, { output }: RealtimeSession['audio']) {
    [this.#run, this.#outlet, this.#speed] = [run, outlet, output.speed];
    this.#part = isSpoken ? { type: 'output_audio', transcript: '' } : { type: 'output_text', text: '' };
    const parts = { id: outlet.newId('item'), object: 'realtime.item', status: 'in_progress' } as const;
    this.#item = { ...parts, type: 'message', role: 'assistant', content: [] };
    const where = begin(run, outlet, { item: this.#item, said: isSpoken ? this.#said : undefined });
    this.#where = { ...where, content_index: 0 };
    this.#item.content.push(this.#part);
    outlet.emit({ type: 'response.content_part.added', ...this.#where, part: this.#partNow() });
  }

  async write(text: string): Promise<void> {
    const part = this.#part;
    if (part.type === 'output_text') {
      part.text += text;
      this.#outlet.emit({ type: 'response.output_text.delta', ...this.#where, delta: text });
      return;
    }
    part.transcript += text;
    this.#outlet.emit({ type: 'response.output_audio_transcript.delta', ...this.#where, delta: text });
    if (!this.#outlet.voice) {
      this.#own().text += text;
      return;
    }
    this.#waiting += text;
    for (const sentence of complete(this.#waiting, this.#outlet.language)) {
      this.#waiting = this.#waiting.slice(sentence.length);
      await this.#say(sentence);
    }
  }

  /** Sound of a model that speaks itself: all text so far is spread over it. */
  hear(piece: SoundPiece): void {
    this.#piece(piece, this.#own());
  }

  #own(): { text: string; samples: number } {
    const said = this.#said[0] ?? { text: '', samples: 0 };
    this.#said[0] = said;
    return said;
  }

  /** Says what is left, and ends the item. */
  async close(status: 'completed' | 'incomplete'): Promise<void> {
    if (status === 'completed' && this.#part.type === 'output_audio') {
      if (this.#waiting !== '') await this.#say(this.#waiting);
      const last = this.#resampler?.end();
      if (last && last.length > 0) this.#sound(last, this.#said.at(-1));
    }
    this.end(status);
  }

  end(status: 'completed' | 'incomplete'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const [part, where] = [this.#part, this.#where];
    if (part.type === 'output_text') {
      this.#outlet.emit({ type: 'response.output_text.done', ...where, text: part.text });
    } else {
      this.#outlet.emit({ type: 'response.output_audio.done', ...where });
      const { transcript } = part;
      this.#outlet.emit({ type: 'response.output_audio_transcript.done', ...where, transcript });
    }
    this.#outlet.emit({ type: 'response.content_part.done', ...where, part: this.#partNow() });
    this.#item.status = status;
    const { content_index: _, ...place } = where;
    end(this.#outlet, place, this.#item);
  }

  #partNow(): { type: 'text'; text: string } | { type: 'audio'; transcript: string } {
    const part = this.#part;
    return part.type === 'output_text'
      ? { type: 'text', text: part.text }
      : { type: 'audio', transcript: part.transcript };
  }

  async #say(sentence: string): Promise<void> {
    const { voice, language } = this.#outlet;
    const { signal } = this.#run;
    const said: SaidSentence = { text: sentence, samples: 0 };
    this.#said.push(said);
    const words = spokenText(sentence, language);
    if (!voice || !/[\p{L}\p{N}]/u.test(words)) return;
    for (const part of sentences(words, language)) {
      for await (const piece of voice.speak(part, { signal, speed: this.#speed })) {
        signal.throwIfAborted();
        this.#piece(piece, said);
      }
    }
  }

  #piece({ samples, sampleRate }: SoundPiece, said: SaidSentence): void {
    this.#resampler ??= new Resampler(sampleRate, PCM_RATE);
    this.#sound(this.#resampler.push(samples), said);
  }

  #sound(samples: Float32Array, said: SaidSentence | undefined): void {
    if (samples.length === 0) return;
    if (said) said.samples += samples.length;
    this.#outlet.emit({ type: 'response.output_audio.delta', ...this.#where, delta: base64(pcm16(samples)) });
  }
}

/** @internal */
export class OutputCall {
  readonly #outlet: Outlet;
  readonly #item: Extract<RealtimeItem, { type: 'function_call' }>;
  readonly #where: Where;

  constructor(run: ResponseRun, outlet: Outlet, name: string, id: string | undefined) {
    this.#outlet = outlet;
    const parts = { id: outlet.newId('item'), object: 'realtime.item', status: 'in_progress' } as const;
    this.#item = { ...parts, type: 'function_call', call_id: id ?? outlet.newId('call'), name, arguments: '' };
    this.#where = begin(run, outlet, { item: this.#item });
  }

  write(delta: string): void {
    this.#item.arguments += delta;
    const { call_id } = this.#item;
    this.#outlet.emit({ type: 'response.function_call_arguments.delta', ...this.#where, call_id, delta });
  }

  close(status: 'completed' | 'incomplete'): void {
    const { call_id, name, arguments: text } = this.#item;
    const done = { ...this.#where, call_id, name, arguments: text };
    this.#outlet.emit({ type: 'response.function_call_arguments.done', ...done });
    this.#item.status = status;
    end(this.#outlet, this.#where, this.#item);
  }
}
