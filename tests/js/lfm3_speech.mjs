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
