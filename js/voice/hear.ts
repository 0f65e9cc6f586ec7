/**
 * A model that writes while it hears, as Voxtral Realtime: each of its tokens goes with 80 milliseconds of the sound,
 * whose row is added to the embedding of the token before. Silence goes before the sound and behind it.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import type { Encoders } from '../media/encoders.js';
import { RATE } from '../media/samples.js';
import type { ToHear } from './asked.js';
import { type Said, type Text, randomDigest } from './reader.js';
import { Speeches } from './reading.js';

/** The token of silence. */
const PAD = '[STREAMING_PAD]';
/** Rows of silence in front, and behind the sound besides the delay. */
const [BEFORE, BEHIND] = [32, 11];
/** Samples of two frames, of which one row of the encoder's layers is made. */
const FRAMES = 2 * (RATE / 100);

const known = new WeakMap<Encoders, Hearing>();

/** What hears with these encoders. @internal */
export function hearingOf(encoders: Encoders | undefined): Hearing {
  if (!encoders)
    throw invalidArgument("the model was loaded without an encoder of sounds: load it with option 'mmproj'");
  const found = known.get(encoders) ?? new Hearing(encoders);
  known.set(encoders, found);
  return found;
}

/** What is being heard. */
interface Heard {
  /** The ids of its rows. */
  readonly ids: Uint32Array;
  readonly rows: Float32Array;
  /** The tokens that go with the rows, as far as they are known, and how many were given. */
  readonly tokens: number[];
  readonly given: number;
  shown: number;
}

class Hearing {
  readonly #encoders: Encoders;
  readonly #all = new Speeches<Heard>();

  constructor(encoders: Encoders) {
    this.#encoders = encoders;
  }

  /** The next token of what is heard by this name, and the text that it ends. */
  async say({ name, heard }: ToHear, text: Text, signal?: AbortSignal): Promise<Said> {
    if (heard) this.#all.begin(name, await this.#begun(heard, text, signal));
    return this.#all.next(name, (of) => nextOf(of, text, signal));
  }

  async #begun(sound: Float32Array, { handle, contextLength }: Text, signal?: AbortSignal): Promise<Heard> {
    const delay = handle.delay();
    const [pad, ...others] = handle.tokenize(PAD, false, true);
    const [begin] = handle.encodePrompt('');
    if (delay === undefined || pad === undefined || others.length > 0 || begin === undefined) {
      throw invalidArgument(`the encoder's model is told of a delay and has a token ${PAD}, this one does not`);
    }
    const samples = FRAMES * this.#encoders.merge;
    const count = BEFORE + Math.ceil(sound.length / samples) + delay + BEHIND;
    if (count > contextLength) {
      const found = `${Math.ceil(sound.length / RATE)} seconds take ${count} tokens`;
      throw new WebggufError('context_full', `audio: ${found}, the context holds ${contextLength}`);
    }
    const padded = new Float32Array(count * samples);
    padded.set(sound, BEFORE * samples);
    try {
      const audio = { samples: padded, sampleRate: RATE };
      const [tile] = (await this.#encoders.encode({ audio }, { most: count, signal })).tiles;
      const first = handle.knowRows(randomDigest(), 0, count);
      const tokens = [begin, ...new Array<number>(BEFORE + delay).fill(pad)];
      const ids = Uint32Array.from({ length: count }, (_, at) => first + at);
      return { ids, rows: tile?.values ?? new Float32Array(), tokens, given: tokens.length, shown: 0 };
    } finally {
      this.#encoders.rest();
    }
  }
}

async function nextOf(of: Heard, { handle, run }: Text, signal: AbortSignal | undefined): Promise<Said> {
  const { ids, rows, tokens, given } = of;
  const width = rows.length / ids.length;
  const token = await run(async () => {
    const all = ids.subarray(0, tokens.length);
    // Where something else was read meanwhile, all of it has to be read again.
    const from = Math.min(handle.commonPrefix(all), tokens.length - 1);
    return handle.hear(all, Uint32Array.from(tokens.slice(from)), rows.subarray(from * width, tokens.length * width));
  }, signal);
  if (token !== null) tokens.push(token);
  const isLast = token === null || tokens.length > ids.length;
  const all = handle.detokenize(Uint32Array.from(tokens.slice(given)), false);
  const whole = isLast ? all : all.replace(/\ufffd+$/u, '');
  const text = whole.slice(of.shown);
  of.shown = Math.max(of.shown, whole.length);
  return { samples: new Float32Array(), latents: [], isLast, text, ...(token !== null && { id: token }) };
}
