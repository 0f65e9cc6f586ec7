// Links that hold a result: its JSON, deflated, after the `#` of the address. A browser sends that part to no server.

import { wrong } from '../shared/address.js';
import { summaryOf } from './results.js';

const NAME = 'result';
/** Nothing of the size of a link is more once it is inflated. */
const MOST_BYTES = 2 ** 18;
const DIGITS = 5;

/** All bytes of a stream; refuses more than {@link MOST_BYTES}. */
async function bytesOf(stream) {
  const parts = [];
  let length = 0;
  for await (const part of read(stream)) {
    length += part.length;
    if (length > MOST_BYTES) throw wrong(`the result of this link has more than ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Chunks of a stream, also where streams cannot be iterated. */
async function* read(stream) {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

const through = (bytes, transform) => bytesOf(new Blob([bytes]).stream().pipeThrough(transform));

function toText(bytes) {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function toBytes(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

/** Numbers with as many digits as anybody reads. */
const shorter = (key, value) => (Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : value);

/**
 * The address of this page with a result in it.
 * @param {object} result of `summaryOf`
 */
export async function linkOf(result) {
  const json = new TextEncoder().encode(JSON.stringify(result, shorter));
  const packed = await through(json, new CompressionStream('deflate-raw'));
  return `${location.origin}${location.pathname}#${NAME}=${toText(packed)}`;
}

/**
 * The result in the fragment of an address; `undefined` where it has none.
 * @throws with the code `invalid_argument` where it holds something else
 */
export async function resultIn(hash) {
  const packed = new URLSearchParams(hash.slice(1)).get(NAME);
  if (packed === null) return undefined;
  try {
    const json = await through(toBytes(packed), new DecompressionStream('deflate-raw'));
    return summaryOf(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json)));
  } catch (error) {
    throw error.code === 'invalid_argument' ? error : wrong('the link was cut or changed: its result cannot be read');
  }
}
