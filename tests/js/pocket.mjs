// What tests of Pocket TTS share: its files, the voice, and what llama.cpp says.

import path from 'node:path';
import { WasmModel } from '../../dist/index.js';
import { blob, ENCODERS, expectationsOf } from './encoders.mjs';

export const expected = expectationsOf('pocket');

/** The sound of `make_pocket.py`. */
export const voice = {
  samples: Float32Array.from({ length: expected.voice }, (_, at) => {
    return 0.4 * Math.sin(0.05 * at + 3 * Math.sin(0.0007 * at)) + 0.2 * Math.sin(0.31 * at);
  }),
  sampleRate: 24_000,
};

export const TEXT = path.join(ENCODERS, 'pocket-text.gguf');
export const CODEC = path.join(ENCODERS, 'pocket.gguf');

export const open = (options = {}) => WasmModel.load(blob(TEXT), { backend: 'cpu', vocoder: blob(CODEC), ...options });

/** How far rows are off, in parts of the largest value. */
export function apart(found, wanted) {
  const all = wanted.flat();
  const most = Math.max(...all.map(Math.abs));
  const worst = all.reduce((sum, value, at) => Math.max(sum, Math.abs(value - found[at])), 0);
  return found.length === all.length ? worst / most : `${found.length} values, expected ${all.length}`;
}
