// What tests of models that write while they hear share.

import { Encoder } from '../../dist/media/encoder.js';

/** Encoders, and rows of their layers that are one row of a prompt. */
export const HEARING = { voxtral_rt: 4, 'voxtral_rt-odd': 3 };
/** Rows of silence in front, tokens of delay, and further rows behind. */
export const [BEFORE, DELAY, BEHIND] = [32, 6, 11];

/** What is written of samples that arrive in pieces of this size, token by token; `then` is called after each. */
export async function heard(model, samples, name, size = samples.length, then = () => {}, logprobs) {
  const [ids, pieces, tokens] = [[], [], []];
  for (let at = 0, isLast = false; !isLast; at += size) {
    const isEnd = at + size >= samples.length;
    let asked = { name, heard: samples.slice(at, at + size), logprobs, ...(!isEnd && { state: 'open' }) };
    for (let isOver = false; !isOver; asked = { ...asked, heard: undefined }) {
      const said = await model.withEngine('test', (engine) => engine.say(asked));
      if (said.id !== undefined) ids.push(said.id);
      if (said.token) tokens.push(said.token);
      pieces.push(said.text);
      isLast = said.isLast;
      isOver = isLast || (said.waits && !isEnd);
    }
    await then(ids.length);
  }
  return { ids, tokens, text: pieces.join('') };
}

/** What `work` gives, with the rows that encoders gave meanwhile and how many rows their layers ran over. */
export async function watched(work) {
  const [arrived, rows, layers] = [Encoder.prototype.arrived, [], []];
  Encoder.prototype.arrived = async function (...args) {
    const [, [count, outputs]] = args;
    const found = await arrived.apply(this, args);
    const width = found.length / outputs;
    for (let at = 0; at < outputs; at += 1) rows.push([...found.subarray(at * width, (at + 1) * width)]);
    layers.push(count);
    return found;
  };
  try {
    return { result: await work(), rows, layers };
  } finally {
    Encoder.prototype.arrived = arrived;
  }
}
