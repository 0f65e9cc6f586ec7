/**
 * What comes in: samples, in which turns are found.
 */
import { type Change, VoiceActivity } from '../activity.js';
import { bytesOfBase64 } from '../../base64.js';
import { joined, RATE, resampled, Resampler } from '../resample.js';
import { Refusal } from './refusal.js';
import { PCM_RATE } from './session.js';
import type { TurnDetection } from './types.js';

/** Samples that are kept where nobody says that a turn ends: ten minutes. */
const MOST = 600 * RATE;
/** Samples that are kept where turns are found, while nobody speaks: what a speech that begins may need. */
const BEFORE = 2 * RATE;
/** Samples of the shortest turn, as OpenAI has it: 100 milliseconds. */
const LEAST = RATE / 10;
/** How far speech is above the noise at the threshold 1, in decibels. */
const LOUDEST = 12;

/** Samples at 16 kHz; each has a number, from the first one of the session on. @internal */
export class InputSound {
  #resampler = new Resampler(PCM_RATE, RATE);
  #pieces: Float32Array[] = [];
  #first = 0;
  #end = 0;
  #activity: VoiceActivity | undefined;
  /** The number of the first sample that the activity has heard. */
  #base = 0;
  readonly #most: number;

  /** `most` samples are held. */
  constructor(most = MOST) {
    this.#most = most;
  }

  /** The samples of a sound that came whole, at 16 kHz. */
  static samplesOf(audio: string): Float32Array {
    return resampled(samplesIn(audio), PCM_RATE, RATE);
  }

  /** Finds turns from now on, or does not. */
  listen(turns: TurnDetection | null): void {
    const { threshold = 0.5, prefix_padding_ms: padding = 300, silence_duration_ms: silence = 500 } = turns ?? {};
    const options = { threshold: Math.max(1, threshold * LOUDEST), padding: padding / 1000, silence: silence / 1000 };
    this.#activity = turns ? new VoiceActivity(options) : undefined;
    this.#base = this.#end;
  }

  /** Takes samples; the turns that began and ended in them. */
  append(audio: string): Change[] {
    const samples = this.#resampler.push(samplesIn(audio));
    const room = this.#most - (this.#end - this.#first);
    if (!this.#activity && samples.length > room) {
      throw new Refusal('input_audio_buffer_full', `the buffer holds ${this.#most / RATE} seconds: commit or clear it`);
    }
    this.#pieces.push(samples);
    this.#end += samples.length;
    const changes = this.#activity?.push(samples) ?? [];
    const numbered = changes.map((change) => this.#numbered(change));
    // A turn that is over has not been taken yet.
    const over = numbered.find(({ type }) => type === 'silence');
    const kept = this.#activity?.isSpeech ? this.#most : BEFORE;
    if (this.#activity)
      this.#drop(Math.min(this.#end - kept, Math.max(over?.start ?? Infinity, this.#end - this.#most)));
    return numbered;
  }

  /** The samples of a turn, which then is not there any more; without bounds all of them. */
  take(from = this.#first, to = this.#end): Float32Array {
    const count = to - from;
    if (count < LEAST) {
      const found = `found ${Math.round((1000 * count) / RATE)} ms`;
      throw new Refusal('input_audio_buffer_commit_empty', `the buffer must have at least 100 ms of sound, ${found}`);
    }
    const all = joined(this.#pieces);
    const taken = all.slice(Math.max(0, from - this.#first), to - this.#first);
    this.#drop(to);
    return taken;
  }

  clear(turns: TurnDetection | null): void {
    this.#drop(this.#end);
    this.listen(turns);
  }

  #numbered(change: Change): Change {
    const start = change.start + this.#base;
    return change.type === 'speech' ? { ...change, start } : { ...change, start, end: change.end + this.#base };
  }

  #drop(before: number): void {
    if (before <= this.#first) return;
    const kept = joined(this.#pieces).slice(before - this.#first);
    this.#pieces = kept.length > 0 ? [kept] : [];
    this.#first = before;
  }
}

function samplesIn(audio: string): Float32Array {
  const bytes = bytesOfBase64(audio);
  if (bytes.length % 2 !== 0) {
    throw new Refusal('invalid_value', `samples have 2 bytes, found ${bytes.length} bytes`, 'audio');
  }
  const view = new DataView(bytes.buffer);
  const samples = new Float32Array(bytes.length / 2);
  for (let at = 0; at < samples.length; at += 1) samples[at] = view.getInt16(2 * at, true) / 32768;
  return samples;
}
