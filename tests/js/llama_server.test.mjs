// The fallback against a server that is not ours: llama-cpp-python's, with the same GGUF. `PYTHON` names a Python that
// has `llama-cpp-python[server]` and `gguf`.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WasmModel, WebggufError } from '../../dist/index.js';
import { openai } from '../../dist/openai/index.js';

const PYTHON = process.env.PYTHON ?? 'python3';
const MODEL = fileURLToPath(new URL('../../www/models/storyteller.gguf', import.meta.url));
// The same weights in F32, for both.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'webgguf-'));
after(() => fs.rmSync(folder, { recursive: true }));
const TWIN = path.join(folder, 'storyteller-f32.gguf');
const SERVER = fileURLToPath(new URL('llama_server.py', import.meta.url));
const found = spawnSync(PYTHON, ['-c', 'import gguf, llama_cpp.server.app']);
const skip = found.status === 0 ? false : `${PYTHON} has no llama-cpp-python[server] and gguf`;

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The server's address, once it answers. */
async function startServer() {
  const port = await freePort();
  const child = spawn(PYTHON, [SERVER, MODEL, TWIN, `${port}`], { stdio: 'ignore' });
  after(() => child.kill());
  const baseURL = `http://127.0.0.1:${port}/v1`;
  for (let tries = 0; tries < 1200; tries += 1) {
    if (await fetch(`${baseURL}/models`).catch(() => undefined)) return baseURL;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error('the server does not start');
}

test('a server answers as the model here does', { skip }, async () => {
  const fallback = { baseURL: await startServer(), model: 'storyteller' };
  const reason = new WebggufError('out_of_memory', 'it does not fit');
  const there = openai({ model: Promise.reject(reason), fallback });
  const here = openai({ model: WasmModel.load(await fs.openAsBlob(TWIN), { contextLength: 512 }) });
  for (const content of ['Tell me about a hare.', 'Hi!']) {
    // This server's own default for the penalty is 1.1.
    const messages = [{ role: 'user', content }];
    const request = { messages, temperature: 0, repetition_penalty: 1, max_tokens: 60 };
    const [far, near] = [await there.chat.completions.create(request), await here.chat.completions.create(request)];
    const [{ message, finish_reason: finish }] = near.choices;
    assert.ok(message.content.length > 50, message.content);
    assert.equal(far.choices[0].message.content, message.content);
    assert.equal(far.choices[0].finish_reason, finish);
    assert.deepEqual([far.webgguf.backend, near.webgguf.backend], ['server', 'cpu']);
    assert.equal(far.webgguf.reason.code, 'out_of_memory');

    let streamed = '';
    for await (const chunk of await there.chat.completions.create({ ...request, stream: true })) {
      assert.equal(chunk.webgguf.backend, 'server');
      streamed += chunk.choices[0]?.delta.content ?? '';
    }
    assert.equal(streamed, message.content);
  }
  const wrong = there.chat.completions.create({ messages: [{ role: 'user', content: 'x'.repeat(9000) }] });
  await assert.rejects(wrong, ({ message }) => /HTTP 400, .*context/i.test(message));
});
