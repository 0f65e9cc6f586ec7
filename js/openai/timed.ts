/**
 * Transcriptions with the times of segments: the parts of a sound in which somebody speaks, each heard by itself.
 */
import { samplesOf } from '../media/samples.js';
import type { ChosenToken } from '../types/generate.js';
import type { AudioSource } from '../types/media.js';
import { speechIn, type SpeechSpan } from '../voice/activity.js';
import { quietest } from '../voice/cut.js';
import type { TranscriptionSegment, TranscriptionVerbose } from './transcription-types.js';

/** Seconds of a segment after which it is cut where it is quietest. */
const LONGEST = 30;

/** The words of one sound. @internal */
export interface Heard {
  readonly text: string;
  /** The tokens of the words, with the option `logprobs`. */
  readonly tokens: readonly ChosenToken[];
  readonly language: string | undefined;
}

/** Segments of `file` with their words, which `hear` finds. @internal */
export async function timed(
  file: AudioSource,
  { temperature, language, signal }: { temperature: number; language: string; signal: AbortSignal | undefined },
  hear: (sound: AudioSource) => Promise<Heard>,
): Promise<TranscriptionVerbose> {
  const { samples, sampleRate } = await samplesOf(file, signal);
  const segments: TranscriptionSegment[] = [];
  const languages: string[] = [];
  for (const span of speechIn(samples, sampleRate).flatMap((each) => cut(samples, sampleRate, each))) {
    const { start, end, speech } = span;
    const sound = { samples: samples.slice(start * sampleRate, end * sampleRate), sampleRate };
    const { text, tokens, language: found } = await hear(sound);
    if (found) languages.push(found);
    if (!text) continue;
    segments.push({
      ...{
        id: segments.length,
        seek: 0,
        start: rounded(start),
        end: rounded(end),
        text,
        tokens: tokens.map(({ id }) => id),
        temperature,
      },
      avg_logprob: tokens.reduce((sum, { logprob }) => sum + logprob, 0) / Math.max(1, tokens.length),
      compression_ratio: await compression(text),
      no_speech_prob: 1 - speech,
    });
  }
  const duration = samples.length / sampleRate;
  const text = segments.map((segment) => segment.text).join(' ');
  const usage = { type: 'duration' as const, seconds: Math.ceil(duration) };
  return { task: 'transcribe', language: language || (languages[0] ?? ''), duration, text, segments, usage };
}

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** A span in parts that are short enough. */
function cut(samples: Float32Array, rate: number, span: SpeechSpan): SpeechSpan[] {
  const { start, end, speech } = span;
  if (end - start <= LONGEST) return [span];
  const at = start + quietest(samples.subarray(start * rate, (start + LONGEST) * rate)) / rate;
  return [{ start, end: at, speech }, ...cut(samples, rate, { start: at, end, speech })];
}

async function compression(text: string): Promise<number> {
  const bytes = new Blob([text]);
  const small = await new Response(bytes.stream().pipeThrough(new CompressionStream('deflate'))).arrayBuffer();
  return bytes.size / small.byteLength;
}

/** `01:02:03,004`, or with a point. */
function clock(seconds: number, point: string): string {
  const whole = Math.round(seconds * 1000);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const [hours, minutes] = [whole / 3_600_000, (whole / 60_000) % 60];
  return `${two(hours)}:${two(minutes)}:${two((whole / 1000) % 60)}${point}${String(whole % 1000).padStart(3, '0')}`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll('-->', '->');

/** Subtitles as SubRip has them. @internal */
export function srtOf({ segments }: TranscriptionVerbose): string {
  const cues = segments.map(
    ({ id, start, end, text }) => `${id + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${oneLine(text)}\n\n`,
  );
  return cues.join('');
}

/** Subtitles as WebVTT has them. @internal */
export function vttOf({ segments }: TranscriptionVerbose): string {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const cues = segments.map(
    ({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${escaped(oneLine(text))}\n\n`,
  );
  return `WEBVTT\n\n${cues.join('')}`;
}
