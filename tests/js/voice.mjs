// Sounds for tests of webgguf/voice: made ones, and a spoken one with where its sentences are.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FIXTURES = path.join(path.dirname(fileURLToPath(import.meta.url)), '../fixtures/voice');
export const SPEECH = path.join(FIXTURES, 'speech.wav');
/** Another voice, of a woman. */
export const SECOND = path.join(FIXTURES, 'second.wav');
/** Samples each second. */
export const RATE = 16000;
/** Where the sentences of the spoken sound are, in seconds. */
export const SENTENCES = [
  [0.5, 3.6],
  [4.3, 6.2],
];

/** `{ samples, sampleRate }` of the spoken sound. */
export function spoken(file = SPEECH) {
  const bytes = fs.readFileSync(file);
  const values = new Int16Array(bytes.buffer.slice(bytes.byteOffset + 44, bytes.byteOffset + bytes.length));
  return { samples: Float32Array.from(values, (value) => value / 32768), sampleRate: bytes.readUInt32LE(24) };
}

/** Numbers from -1 to 1, the same in every run. */
export function random(seed = 1) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x40000000 - 1;
  };
}

const made = (seconds, sample) => Float32Array.from({ length: seconds * RATE }, (_, at) => sample(at / RATE));
const wave = (hertz, time) => Math.sin(2 * Math.PI * hertz * time);

/** A tone that may begin and end suddenly. */
export const tone = (seconds, [from, to] = [0, seconds]) =>
  made(seconds, (time) => (time >= from && time < to ? 0.3 * wave(440, time) : 0));

/** White noise. */
export function noise(seconds, gain) {
  const next = random();
  return made(seconds, () => gain * next());
}

/** A machine: 100 Hz and its overtones. */
export const hum = (seconds) =>
  made(seconds, (time) =>
    [1, 2, 3, 4, 5, 6, 7, 8].reduce((sum, number) => sum + (0.1 / number) * wave(100 * number, time), 0),
  );

/** Keys of a telephone. */
export const keys = (seconds) =>
  made(seconds, (time) => (time % 0.5 < 0.2 ? 0.2 * (wave(770, time) + wave(1336, time)) : 0));

const CHORDS = [
  [262, 330, 392],
  [220, 262, 330],
  [175, 220, 262],
  [196, 247, 294],
];

/** Chords, two each second, each of which fades by `fading`. */
export const music = (seconds, fading) =>
  made(seconds, (time) => {
    const chord = CHORDS[Math.floor(2 * time) % 4];
    const notes = chord.flatMap((hertz) => [1, 2, 3, 4, 5].map((number) => wave(hertz * number, time) / number));
    return 0.05 * notes.reduce((sum, value) => sum + value) * Math.exp(-fading * (time % 0.5));
  });

/** Both at once; the shorter one says how long. */
export const mixed = (one, other) => one.slice(0, other.length).map((value, at) => value + other[at]);

/** The root of the mean square. */
export const level = (samples) => Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);

/** A sound in pieces, each once the one before was taken. */
export async function* pieces({ samples, sampleRate }, size = 1024) {
  for (let at = 0; at < samples.length; at += size) yield { samples: samples.slice(at, at + size), sampleRate };
}

/** The two sentences of the spoken sound in pieces; the second begins once `answered` is settled. */
export async function* both(answered) {
  const { samples, sampleRate } = spoken();
  const middle = 4.2 * sampleRate;
  yield* pieces({ samples: samples.slice(0, middle), sampleRate });
  await answered;
  yield* pieces({ samples: samples.slice(middle), sampleRate });
}

/** A sound without pieces that does not end. */
export async function* silence() {
  await new Promise(() => {});
}

const codes = (text) => [...text].map((sign) => sign.charCodeAt(0));

/**
 * A model that hears, as `audio.transcriptions` sees it: its tokens are letters, and what it writes is `writes` of the
 * seconds of the sound. `asked` has each request. With `isAsr` it is one like Qwen3-ASR, whose sign is a token.
 */
export function hearingModel(writes, { isAsr = false } = {}) {
  const SIGN = 1;
  const asked = [];
  const generate = (prompt, options) => {
    const { audio } = prompt.media?.[0] ?? prompt[0].content[0];
    const text = writes(audio.samples ? audio.samples.length / audio.sampleRate : undefined);
    asked.push({ prompt, options, audio });
    const [language, words] = text.split('<asr_text>');
    const ids = words === undefined ? codes(language) : [...codes(language), SIGN, ...codes(words)];
    const shown = options.showSpecial?.includes('<asr_text>') ? '<asr_text>' : '';
    const token = (id) => ({ id, text: String.fromCharCode(id), bytes: Uint8Array.of(id), logprob: -0.5, top: [] });
    const likely = (some) => (options.logprobs === undefined ? undefined : some.map(token));
    const piece = (id) => ({ text: id === SIGN ? shown : token(id).text, ids: [id], tokens: likely([id]) });
    const usage = { promptTokens: 9, completionTokens: ids.length, totalTokens: 9 + ids.length };
    usage.promptTokensDetails = { cachedTokens: 0, imageTokens: 0, audioTokens: 6 };
    const tokens = likely(ids);
    const run = { stopped: false, stop: () => (run.stopped = true) };
    run.result = Promise.resolve({ ids: Uint32Array.from(ids), text: text.replace('<asr_text>', ''), tokens, usage });
    run[Symbol.asyncIterator] = async function* () {
      for (const id of ids) {
        options.signal?.throwIfAborted();
        yield piece(id);
      }
    };
    asked.at(-1).run = run;
    return run;
  };
  const tokenize = async (text) => (isAsr && text === '<asr_text>' ? [SIGN] : codes(text));
  const detokenize = async (ids) => String.fromCharCode(...ids);
  return { asked, info: { backend: 'cpu', architecture: 'llama' }, generate, tokenize, detokenize };
}
