// The programs of the guides on tensors and training, and of the table of operations, run in a page as they stand.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { openSite } from './site.mjs';

/** One second of 1,000 Hz at 48,000 samples a second: a sound file of 16 bits. */
function wav() {
  const samples = Int16Array.from({ length: 48_000 }, (_, i) => 8000 * Math.sin((2 * Math.PI * 1000 * i) / 48_000));
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.write('WAVEfmt ', 8);
  for (const [at, value] of [16, 0x10001, 48_000, 96_000, 0x100002].entries()) head.writeUInt32LE(value, 16 + 4 * at);
  head.write('data', 36);
  head.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer)]);
}

const ENTRIES = { webgguf: '/dist/index.js' };
for (const entry of ['compute', 'training']) ENTRIES[`webgguf/${entry}`] = `/dist/${entry}/index.js`;
const MAP = `<script type="importmap">${JSON.stringify({ imports: ENTRIES })}</script>`;
const site = await openSite({
  routes: {
    '/guide.html': (_, response) => response.setHeader('Content-Type', 'text/html').end(`<!doctype html>${MAP}`),
    '/tone.wav': (_, response) => response.end(wav()),
  },
});
const page = await site.open('/guide.html');
after(() => page.close());

/**
 * Blocks of JavaScript that are whole programs over tensors: those of a model need its address, and what tunes measures
 * for minutes without a GPU (`tuning.test.mjs` does it with smaller products).
 */
function programsOf(name) {
  const blocks = [...fs.readFileSync(path.join(ROOT, name), 'utf8').matchAll(/^```js\n([^]*?)^```$/gm)];
  const programs = blocks.map(([, code]) => code).filter((code) => /import .*\bGpu\b/.test(code));
  return programs.filter((code) => !/WasmModel|gpu\.tune/.test(code));
}

/** Runs a program as a module; what it wrote to the console, as text. */
async function outputOf(code) {
  const [lines, error] = await page.evaluate(async (source) => {
    const [lines, { log }] = [[], console];
    console.log = (...values) => lines.push(values.map((value) => (ArrayBuffer.isView(value) ? [...value] : value)));
    globalThis.file = await (await fetch('/tone.wav')).blob();
    const address = URL.createObjectURL(new Blob([`${source}\ngpu.destroy();`], { type: 'text/javascript' }));
    try {
      await import(address);
      return [lines.map((line) => line.flat(9).join(' '))];
    } catch (failure) {
      return [lines, `${failure.code} ${failure.message}`];
    } finally {
      console.log = log;
    }
  }, code);
  assert.equal(error, undefined, code);
  assert.deepEqual(page.crashes, []);
  return lines;
}

test('the programs of the guide on tensors give what their comments say', async () => {
  const programs = programsOf('docs/guides/tensors.md');
  assert.equal(programs.length, 5);
  const outputs = [];
  for (const program of programs) outputs.push(await outputOf(program));
  const [rows, columns, ...values] = outputs[0][0].split(' ').map(Number);
  assert.deepEqual([rows, columns, values.length], [2, 4, 8]);
  // 2p + 1 of two rows of probabilities.
  const sums = [values.slice(0, 4), values.slice(4)].map((row) => row.reduce((a, b) => a + b));
  assert.ok(
    sums.every((sum) => Math.abs(sum - 6) < 1e-4),
    outputs[0][0],
  );
  assert.match(outputs[1][0], /^1 16 32 32 440$/);
  const [low, high] = outputs[2][0].split(' ').map(Number);
  assert.ok(Math.abs(low - 440) < 4 && Math.abs(high - 1000) < 4, outputs[2][0]);
  assert.equal(outputs[2][1].split(' ').length, 2 * 1000 * 15);
  assert.match(outputs[3][0], /^(99[0-9]|100\d) Hz: -?\d+ dB$/);
  assert.equal(outputs[4][0], '1 4 9');
});

test('the programs of the guide on training run, and what they train gets better', async () => {
  const programs = programsOf('docs/guides/training.md');
  assert.equal(programs.length, 4);
  const losses = (await outputOf(programs[0])).map(Number);
  assert.equal(losses.length, 10);
  assert.ok(losses.at(-1) < 0.8 * losses[0], losses.join(' '));
  for (const program of programs.slice(1)) await outputOf(program);
});

test('the program beside the table of operations learns a sum', async () => {
  const [program, ...others] = programsOf('docs/operations.md');
  assert.equal(others.length, 0);
  const [line] = await outputOf(program);
  const weights = line.split(' ').map(Number);
  assert.ok(weights.length === 3 && weights.every((weight) => Math.abs(weight - 1) < 0.1), line);
});
