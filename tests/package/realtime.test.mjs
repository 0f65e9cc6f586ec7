// The realtime client of the official `openai` package over sessions of the page, and the types of both.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from '../js/api.mjs';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
const { default: OpenAI } = await import(tool('openai', 'index.mjs'));
const { OpenAIRealtimeWebSocket } = await import(tool('openai', 'realtime/websocket.mjs'));
const { realtimeSocket } = await import(`${dist}voice/index.js`);

const TYPED = `
import type {
  ConversationItem, RealtimeClientEvent as Sent, RealtimeServerEvent as Given,
} from 'openai/resources/realtime/realtime';
import { WasmModel } from 'DIST/index.js';
import { openai } from 'DIST/openai/index.js';
import { createRealtime, type RealtimeItem, type RealtimeServerEvent } from 'DIST/voice/index.js';

/** What OpenAI's code sends is taken. */
export function send(model: WasmModel, events: Sent[]): void {
  const realtime = createRealtime({ ears: model, model, voice: model });
  for (const event of events) realtime.send(event);
  createRealtime({ model: openai({ model }) }).on('response.done', ({ response }) => response.usage?.total_tokens);
  // @ts-expect-error: there is no such event
  realtime.on('response.finished', () => {});
}

/** What is given fits what OpenAI's code expects. */
export const given = (event: RealtimeServerEvent): Given => event;
export const item = (found: RealtimeItem): ConversationItem => found;
`;

test('the types fit the openai package', () => mustCompile('realtime-types.ts', TYPED));

/** Answers with `pieces`; speaks 1000 samples for each sentence. */
function models(pieces) {
  const create = async () =>
    (async function* () {
      for (const content of pieces) yield { choices: [{ index: 0, delta: { content }, finish_reason: null }] };
    })();
  const speak = async function* () {
    yield { samples: new Float32Array(1000).fill(0.5), sampleRate: 24_000 };
  };
  return { model: { chat: { completions: { create } } }, voice: { speak }, ears: async () => 'Hi.' };
}

test('OpenAIRealtimeWebSocket runs as it is', async () => {
  const before = globalThis.WebSocket;
  globalThis.WebSocket = realtimeSocket(models(['Hello. ', 'Hello!']));
  try {
    const client = new OpenAI({ apiKey: 'none', baseURL: 'https://webgguf.invalid/v1' });
    const realtime = new OpenAIRealtimeWebSocket({ model: 'local' }, client);
    const errors = [];
    realtime.on('error', ({ message, error }) => errors.push(error?.code ?? message));
    const until = (type) => new Promise((resolve) => realtime.once(type, resolve));
    const opened = new Promise((resolve) => realtime.socket.addEventListener('open', resolve));
    const created = until('session.created');
    await opened;
    assert.equal((await created).session.type, 'realtime');
    realtime.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be kind.' } });
    assert.equal((await until('session.updated')).session.instructions, 'Be kind.');
    let bytes = 0;
    let text = '';
    realtime.on('response.output_audio.delta', ({ delta }) => (bytes += Buffer.from(delta, 'base64').length));
    realtime.on('response.output_audio_transcript.delta', ({ delta }) => (text += delta));
    const content = [{ type: 'input_text', text: 'Hi.' }];
    realtime.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    realtime.send({ type: 'response.create' });
    const { response } = await until('response.done');
    assert.deepEqual([response.status, text, bytes], ['completed', 'Hello. Hello!', 4000]);
    realtime.send({ type: 'conversation.item.delete', item_id: 'none' });
    await new Promise((resolve) => setTimeout(resolve));
    assert.deepEqual(errors, ['item_not_found']);
    const closed = new Promise((resolve) => realtime.socket.addEventListener('close', resolve));
    realtime.close();
    assert.equal((await closed).code, 1000);
  } finally {
    globalThis.WebSocket = before;
  }
});
