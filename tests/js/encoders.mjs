// What tests of encoders share: their files, and what llama.cpp says of their rows.

import fs from 'node:fs';
import path from 'node:path';
import { WasmModel } from '../../dist/index.js';
import { ROOT } from '../../tools/common.mjs';

export const FIXTURES = path.join(ROOT, 'tests', 'fixtures');
/** Encoders, pictures and sounds, with what llama.cpp says of their rows. */
export const ENCODERS = path.join(FIXTURES, 'encoders');

/** How far rows may be off on the CPU, in parts of their largest value. */
export const ROWS = 1e-4;
/** How far log-probabilities may be off on the CPU. */
export const LOGPROBS = 5e-3;

export const blob = (file) => new Blob([fs.readFileSync(file)]);
export const expectationsOf = (name) => JSON.parse(fs.readFileSync(path.join(ENCODERS, `${name}.json`), 'utf8'));

/** Opens the text model and the encoder of an expectation on the CPU. */
export const open = ({ text, encoder }, options = {}) =>
  WasmModel.load(blob(path.join(FIXTURES, 'models', text)), {
    backend: 'cpu',
    mmproj: blob(path.join(ENCODERS, encoder)),
    ...options,
  });
