// What tests of images share: names of the encoders, and pictures as pixels, PNG files of eight bits a channel without
// interlacing.

import fs from 'node:fs';
import zlib from 'node:zlib';

/** Encoders of images. */
export const NAMES = [
  'gemma3',
  'gemma3nv',
  'gemma3nv-odd',
  'idefics3',
  'lfm2',
  'qwen2vl',
  'qwen25vl',
  'qwen3vl',
  'qwen3vl-deep',
  'pixtral',
  'pixtral-single',
  'internvl',
  'gemma4v',
  'gemma4v-bounded',
  'gemma4uv',
  'glm4v',
  'lfm3vl',
  'lfm3vl-wide',
  'lightonocr',
  'lightonocr-single',
  'paddleocr',
  'paddleocr-odd',
  'dots_ocr',
  'phi4',
  'phi4-odd',
  'janus_pro',
  'janus_pro-odd',
  'kimivl',
  'kimivl-odd',
  'minicpmv',
  'minicpmv-odd',
  'minicpmv-once',
  'minicpmv47',
  'minicpmv47-odd',
  'hunyuanvl',
  'hunyuanvl-odd',
  'mlp',
  'mlp-tiled',
  'mlp-norm',
  'resampler',
  'resampler-odd',
  'deepseekocr',
  'deepseekocr-odd',
  'granite4_vision',
  'granite4_vision-odd',
];

/** The rows that are expected of an image, some with their places among all, or all of its tiles. */
export function allRows({ count, at, rows }) {
  if (at) return { count, at, rows };
  const all = rows.flat();
  return { count: all.length, at: [...all.keys()], rows: all };
}

/** `{ width, height, data }` with four bytes a pixel. */
export function readPng(file) {
  const bytes = fs.readFileSync(file);
  const [width, height, channels] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25] === 6 ? 4 : 3];
  const parts = [];
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(bytes.subarray(at + 8, at + 8 + length));
  }
  const lines = unfiltered(zlib.inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  const data = new Uint8Array(width * height * 4).fill(255);
  for (let pixel = 0; pixel < width * height; pixel++) {
    data.set(lines.subarray(pixel * channels, (pixel + 1) * channels), pixel * 4);
  }
  return { width, height, data };
}

/** The first byte of each line says what was subtracted from the others. */
function unfiltered(bytes, width, height, channels) {
  const out = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    const kind = bytes[y * (width + 1)];
    for (let x = 0; x < width; x++) {
      const left = x < channels ? 0 : out[y * width + x - channels];
      const up = y === 0 ? 0 : out[(y - 1) * width + x];
      const corner = x < channels || y === 0 ? 0 : out[(y - 1) * width + x - channels];
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][kind];
      out[y * width + x] = bytes[y * (width + 1) + 1 + x] + guess;
    }
  }
  return out;
}

function paeth(left, up, corner) {
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(left + up - corner - value));
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}
