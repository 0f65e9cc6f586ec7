/**
 * How a video stands in a prompt: the times of its frames, between which their rows stand.
 */
import type { LayoutItem } from '../media/layout.js';
import type { Frames } from './frames.js';

/** How a family writes a video. */
interface Form {
  readonly begin?: (count: number, seconds: number) => string;
  readonly end?: string;
  /** Text before a frame. */
  readonly before: (time: number, at: number) => string;
  /** Text between a frame and the next one. */
  readonly between?: string;
  /** Frames have no marks of images around them. */
  readonly isBare?: boolean;
}

const two = (value: number): string => `${Math.floor(value)}`.padStart(2, '0');
const clock = (time: number): string => `${two(time / 60)}:${two(time % 60)}`;
const inSeconds = (time: number): string => `<${time.toFixed(1)} seconds>`;
const GEMMA: Form = { before: (time) => `${clock(time)} `, between: ' ' };

/** By the name of the projector: what the processors of these families write in Transformers. */
const FORMS: Record<string, Form> = {
  gemma4v: GEMMA,
  gemma4uv: GEMMA,
  idefics3: {
    begin: (count, seconds) => {
      const length = `${Math.floor(seconds / 3600)}:${clock(seconds % 3600)}`;
      return `You are provided the following series of ${inWords(count)} frames from a ${length} [H:MM:SS] video.\n`;
    },
    before: (time) => `\nFrame from ${clock(time)}:`,
    end: '\n\n',
  },
  internvl: { before: (_, at) => `Frame${at + 1}: `, between: '\n', end: '\n' },
  lfm3vl: { begin: () => '<|vision_start|>', before: inSeconds, end: '<|vision_end|>', isBare: true },
  qwen3vl_merger: { before: inSeconds },
};

/** Other families: the times in llama.cpp's words. */
const OTHERS: Form = {
  begin: () => 'Video:',
  before: (time) => `[${Math.floor(time / 60)}m${(time % 60).toFixed(2)}s]`,
};

const ONES = 'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen';
const SMALL = `${ONES} seventeen eighteen nineteen`.split(' ');
const TENS = '- - twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');

/** A number below 1000 in English, as SmolVLM2 was trained to read it. */
function inWords(count: number): string {
  if (count < 20) return SMALL[count] as string;
  const [high, low] = count < 100 ? [Math.floor(count / 10), count % 10] : [Math.floor(count / 100), count % 100];
  const first = count < 100 ? (TENS[high] as string) : `${SMALL[high]} hundred`;
  return low === 0 ? first : `${first}${count < 100 ? '-' : ' and '}${inWords(low)}`;
}

/** Whether frames have no marks of images around them. @internal */
export const isBare = (projector: string): boolean => FORMS[projector]?.isBare ?? false;

/** The texts of a video in a prompt, and between them the numbers of its frames. @internal */
export function layoutOfVideo(projector: string, { times, seconds }: Pick<Frames, 'times' | 'seconds'>): LayoutItem[] {
  const { begin, before, between = '', end = '' } = FORMS[projector] ?? OTHERS;
  const items = times.flatMap((time, at): LayoutItem[] => [(at > 0 ? between : '') + before(time, at), at]);
  return [begin?.(times.length, seconds) ?? '', ...items, end].filter((item) => item !== '');
}
