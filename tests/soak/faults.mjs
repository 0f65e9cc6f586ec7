// A server that serves two models badly: as `Math.random` of a seed says it cuts connections, stalls, is busy, sends
// wrong bytes or a wrong length.

import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../tools/common.mjs';
import { parseRange } from '../../tools/serve.mjs';

const FOLDER = path.join(ROOT, 'tests', 'fixtures', 'models');

/** Random numbers from 0 to 1 that a seed repeats (mulberry32, Tommy Ettinger 2017, public domain). */
export function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of a list, by a random number. */
export const pick = (random, list) => list[Math.floor(random() * list.length)];

/** What may go wrong with an answer; `none` as often as all others. */
const FAULTS = ['cut', 'stall', 'busy', 'limited', 'flipped', 'short', 'long', 'gone'];

/** Routes of models and of what went wrong. `faults.on` turns faults on; `faults.counts` says how often each came. */
export function faultyRoutes(names, random) {
  const faults = { on: true, counts: {} };
  const routes = {};
  for (const name of names) {
    const bytes = fs.readFileSync(path.join(FOLDER, `${name}.gguf`));
    routes[`/${name}.gguf`] = (request, response) => {
      const fault = faults.on && random() < 0.5 ? pick(random, FAULTS) : 'none';
      faults.counts[fault] = (faults.counts[fault] ?? 0) + 1;
      answer({ bytes, request, response, fault, random });
    };
  }
  return { faults, routes };
}

function answer({ bytes, request, response, fault, random }) {
  if (fault === 'busy') return response.writeHead(503).end();
  if (fault === 'limited') return response.writeHead(429, { 'Retry-After': '0' }).end();
  if (fault === 'gone') return response.writeHead(404).end();
  const range = parseRange(request.headers.range, bytes.length);
  if (range === 'unsatisfiable') return response.writeHead(416).end();
  const { start, end } = range ?? { start: 0, end: bytes.length - 1 };
  let body = bytes.subarray(start, end + 1);
  const headers = { ETag: '"one"', 'Accept-Ranges': 'bytes', 'Content-Length': body.length };
  if (range) headers['Content-Range'] = `bytes ${start}-${end}/${bytes.length}`;
  if (fault === 'flipped') {
    body = Buffer.from(body);
    body[Math.floor(random() * body.length)] ^= 1 << Math.floor(random() * 8);
  }
  // A file that is shorter or longer than the model, said with the right length of its own.
  if (fault === 'short' && !range) headers['Content-Length'] = (body = body.subarray(0, body.length >> 1)).length;
  if (fault === 'long' && !range) headers['Content-Length'] = (body = Buffer.concat([body, Buffer.alloc(1000)])).length;
  response.writeHead(range ? 206 : 200, headers);
  if (request.method === 'HEAD') return response.end();
  if (fault !== 'cut' && fault !== 'stall') return response.end(body);
  response.write(body.subarray(0, Math.floor(random() * body.length)));
  if (fault === 'cut') setTimeout(() => response.destroy(), 20);
  // A server that stalls says nothing more, until the page gives up.
}
