/**
 * What Pocket TTS is given to say: a text as its own code prepares it, cut into chunks of sentences.
 */
import { invalidArgument } from '../errors.js';
import type { SpeakingModel } from './speak.js';
import type { Utterance } from './asked.js';

/** Tokens of a chunk: longer ones are spoken badly. */
const MOST = 50;
/** Words of a text that is padded, less one, and what with, for the models that want it. */
const [FEW, PADDING] = [5, ' '.repeat(8)];
const PADDED: readonly string[] = ['english_2026-01'];

/** A chunk of a text. @internal */
export type Chunk = Pick<Utterance, 'before' | 'begin' | 'text'> & { readonly said: string };

/** The chunks of a text. @internal */
export async function chunksOf(model: SpeakingModel, call: string, whole: string): Promise<Chunk[]> {
  const special = async (name: string): Promise<Uint32Array> => {
    const ids = await model.tokenize(name, { parseSpecial: true });
    const found = [...ids];
    // A space may come first.
    const own = await Promise.all(found.map((id) => model.detokenize(Uint32Array.of(id), { showSpecial: true })));
    return Uint32Array.from(found.filter((_, at) => own[at] === name));
  };
  const [before, begin] = [await special('<|bos_before_voice|>'), await special('<|audio_bos|>')];
  if (begin.length !== 1) throw invalidArgument(`${call}: the model has no token <|audio_bos|>`);
  const ids = await model.tokenize(prepared(whole, PADDED.includes(model.info.vocoder?.variant ?? '')), {});
  const marks = async (text: string): Promise<number[]> => [...(await model.tokenize(text, {}))].slice(1);
  const chunks = cut([...ids], await marks('.!...?'), await marks(',;:'));
  const made = chunks.map(async (chunk): Promise<Chunk> => {
    const ids = Uint32Array.from(chunk);
    // Ids do not tell what the vocabulary lacks.
    const said = chunks.length === 1 ? whole : (await model.detokenize(ids, {})).trim();
    return { before: before.slice(0, 1), begin: begin[0] as number, text: ids, said };
  });
  return Promise.all(made);
}

/** One line that begins with a capital letter and ends with a mark. */
function prepared(text: string, pads: boolean): string {
  const line = text
    .replace(/[\n\r]/g, ' ')
    .replaceAll(';', ',')
    .replace(/^ +| +$/g, '');
  const begun = line.replace(/^[a-z]/, (letter) => letter.toUpperCase());
  const ended = /[a-z0-9]$/i.test(begun) ? `${begun}.` : begun;
  return pads && ended.split(' ').filter((word) => word !== '').length < FEW ? PADDING + ended : ended;
}

/** Sentences that fit together, and parts of sentences that are too long. */
function cut(ids: readonly number[], ends: readonly number[], pauses: readonly number[]): number[][] {
  if (ids.length <= MOST) return [[...ids]];
  const parts = runs(ids, ends).flatMap((part) => (part.length > MOST ? runs(part, pauses) : [part]));
  const chunks: number[][] = [];
  for (const part of parts.filter(({ length }) => length > 0)) {
    const last = chunks.at(-1);
    if (last && last.length + part.length <= MOST) last.push(...part);
    else chunks.push([...part]);
  }
  return chunks;
}

/** Cuts behind each run of marks. */
function runs(ids: readonly number[], marks: readonly number[]): number[][] {
  const found: number[][] = [];
  let [start, wasMark] = [0, false];
  for (const [at, id] of ids.entries()) {
    const isMark = marks.includes(id);
    if (!isMark && wasMark) {
      found.push(ids.slice(start, at));
      start = at;
    }
    wasMark = isMark;
  }
  return [...found, ids.slice(start)];
}
