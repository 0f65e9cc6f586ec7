// What tests of an embedder of images and sounds share: its inputs, and what llama.cpp makes of them.

import fs from 'node:fs';
import path from 'node:path';
import { ENCODERS, FIXTURES } from './encoders.mjs';
import { readPng } from './images.mjs';

/** A small random EmbeddingGemma 2 and its encoders. */
export const FOLDER = path.join(FIXTURES, 'embed-media');
/** `{ parts, pieces, embedding }`: ids of texts and numbers of rows in their order, and the vector, not normalised. */
export const CASES = JSON.parse(fs.readFileSync(path.join(FOLDER, 'embed-media.json'), 'utf8'));

/** The parts of a case as a message has them. */
export const contentOf = (parts) =>
  parts.map(({ text, image, audio }) => {
    if (text !== undefined) return { type: 'text', text };
    if (image) return { type: 'image', image: readPng(path.join(ENCODERS, image)) };
    return { type: 'audio', audio: new Uint8Array(fs.readFileSync(path.join(ENCODERS, audio))) };
  });

/** How many tokens a case has. */
export const tokensOf = ({ pieces }) => pieces.reduce((sum, piece) => sum + (piece.length ?? piece), 0);

/** The first values of a vector, of length 1. */
export function unit(vector, dimensions = vector.length) {
  const kept = [...vector].slice(0, dimensions);
  const length = Math.hypot(...kept);
  return kept.map((value) => value / length);
}

/** ‖a − b‖. */
export const apart = (a, b) => Math.hypot(...[...a].map((value, at) => value - b[at]));
