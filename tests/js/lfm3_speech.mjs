// What tests of LFM3's speech share: its files, and what llama.cpp says.

import path from 'node:path';
import { WasmModel } from '../../dist/index.js';
import { blob, ENCODERS, expectationsOf } from './encoders.mjs';

export const expected = expectationsOf('lfm3a-gen');
export const TEXT = path.join(ENCODERS, 'lfm3a-gen-text.gguf');
export const GENERATOR = path.join(ENCODERS, 'lfm3a-gen.gguf');

export const open = (options = {}) =>
  WasmModel.load(blob(TEXT), { backend: 'cpu', vocoder: blob(GENERATOR), ...options });

/** What asks for a case of the expectations, with the likeliest code each time. */
export const askedOf = ({ ids, orders }) => ({
  prompt: Uint32Array.from(ids),
  most: orders.length,
  orders,
  temperature: 0,
});

/** Answers of text and sound. */
export const answers = expectationsOf('lfm3a-gen-answers');

/** What asks for an answer of the expectations, with the likeliest token and code each time. */
export const askedForAnswer = ({ output, ids, orders, most, biases }) => {
  const [mixed, sound, over] = [321, 320, 322];
  const mode = { auto: 'text' }[output] ?? output;
  const barred = output === 'text' ? [mixed, sound].map((id) => [id, -1e9]) : [];
  const all = [...Object.entries(biases).map(([id, bias]) => [Number(id), bias]), ...barred];
  const begins = { mixed: [mixed], sound: [sound] }[output] ?? [];
  return {
    prompt: Uint32Array.from(ids),
    behind: Uint32Array.from(begins),
    ...{ most, orders, temperature: 0 },
    answer: {
      mode,
      switches: { [mixed]: 'mixed', [sound]: 'sound', [over]: 'over' },
      choice: { seed: 1, biases: all },
    },
  };
};
