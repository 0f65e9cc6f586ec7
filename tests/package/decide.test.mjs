// Clients of decision models over webgguf: `experimental_decide` of the AI SDK, and `@typesafe-ai/sdk` over
// `/v1/systemone`, by the storyteller on the CPU path.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, test } from 'node:test';
import { createWebgguf } from '../../dist/ai-sdk/index.js';
import { decide, systemOneFetch } from '../../dist/decide/index.js';
import { WasmModel } from '../../dist/index.js';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
const ai = await import(tool('ai', 'dist/index.js'));
const { TypeSafeClient, APIError } = await import(tool('@typesafe-ai/sdk', 'dist/index.mjs'));
const storyteller = new URL('../../www/models/storyteller.gguf', import.meta.url);
const model = await WasmModel.load(new Blob([fs.readFileSync(storyteller)]), { backend: 'cpu' });
after(() => model.free());

const state = 'The hare wrote: I was charged twice, and I am sad.';
const team = { type: 'choice', instructions: 'Who answers?', criteria: { billing: 'Payments.', support: null } };
const anger = { type: 'score', instructions: 'How angry?', criteria: ['Calm.', 'Angry.', 'Very angry.'] };
const instructions = 'Does the hare want money?';

/** The same numbers, but for what reading a prompt in other pieces rounds. */
function alike(found, wanted) {
  const numbers = (value) => JSON.stringify(value, (_, held) => (typeof held === 'number' ? +held.toFixed(3) : held));
  assert.equal(numbers(found), numbers(wanted));
}

test('experimental_decide of the AI SDK: answers, counts, registries and refusals', async () => {
  const webgguf = createWebgguf({ models: { mine: model } });
  const questions = { team, anger, refund: { type: 'boolean', instructions } };
  const { answers, usage, warnings, response } = await ai.experimental_decide({
    model: webgguf.decisionModel('mine'),
    ...{ state, questions, reasoning: 'high' },
  });
  alike(answers, (await decide(model, { input: state, questions })).answers);
  assert.ok(usage.inputTokens > 50 && usage.outputTokens === 0);
  assert.deepEqual([warnings, response.modelId], [[{ type: 'unsupported', feature: 'reasoning' }], 'mine']);
  const parts = [
    { type: 'text', text: 'A letter:' },
    { type: 'json', value: { from: 'hare' } },
  ];
  const registry = ai.createProviderRegistry({ local: webgguf });
  const joined = await ai.experimental_decide({
    model: registry.decisionModel('local:mine'),
    ...{ state: parts, questions: { team: { ...team, instructions: { ask: 'Who?' } } } },
    providerOptions: { webgguf: { system: 'You sort letters.' } },
  });
  const same = await decide(model, {
    ...{ input: 'A letter:\n{"from":"hare"}', system: 'You sort letters.' },
    questions: { team: { ...team, instructions: '{"ask":"Who?"}' } },
  });
  alike(joined.answers, same.answers);
  const ask = (further) =>
    ai.experimental_decide({ model: webgguf.decisionModel('mine'), state, maxRetries: 0, ...further });
  const box = { questions: { q: { type: 'box', instructions: 'Where?' } } };
  await assert.rejects(ask(box), (error) => ai.Experimental_DecisionUnsupportedQuestionTypeError.isInstance(error));
  const image = [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: Uint8Array.of(1) } }];
  await assert.rejects(ask({ state: image, questions: { team } }), { name: 'AI_UnsupportedFunctionalityError' });
  await assert.rejects(ask({ questions: { team }, abortSignal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('@typesafe-ai/sdk: systemOne, errors, models', async () => {
  const fetch = systemOneFetch({ model, system: 'You sort letters.' });
  const client = new TypeSafeClient({ baseURL: 'http://webgguf', apiKey: '-', fetch, logLevel: 'off' });
  const questions = { team, anger, refund: { type: 'noul', instructions } };
  const { answers, model: name, usage } = await client.systemOne({ state: { letter: state }, questions });
  const { answers: wanted } = await decide(model, {
    ...{ input: JSON.stringify({ letter: state }), system: 'You sort letters.' },
    questions: { team, anger, refund: { type: 'boolean', instructions } },
  });
  alike([answers.team.choice, answers.team.probabilities], [wanted.team.choice, wanted.team.probabilities]);
  alike([answers.anger.score, answers.refund.noul], [wanted.anger.score, wanted.refund.probability]);
  assert.deepEqual(answers.anger.legend, { 0: 'Calm.', 1: 'Angry.', 2: 'Very angry.' });
  for (const { confidence } of [answers.team, answers.anger]) assert.ok(confidence >= 0 && confidence <= 1);
  assert.equal(name, model.info.name);
  assert.ok(usage.input_tokens > 50);
  const one = { q: { type: 'choice', criteria: { alone: null } } };
  await assert.rejects(client.systemOne({ state, questions: one }), (error) => {
    assert.ok(error instanceof APIError, error.stack);
    assert.equal(error.status, 400);
    return true;
  });
  assert.deepEqual(
    (await client.models.list()).map((card) => card.name),
    [model.info.name],
  );
});

const TYPED = `
import { experimental_decide } from 'ai';
import type { Experimental_DecisionModelV4 } from '@ai-sdk/provider';
import { TypeSafeClient } from '@typesafe-ai/sdk';
import { createWebgguf } from 'DIST/ai-sdk/index.js';
import { decide, systemOneFetch } from 'DIST/decide/index.js';
import type { WasmModel } from 'DIST/index.js';

export const model: Experimental_DecisionModelV4 = createWebgguf().decisionModel('a.gguf');
const questions = { q: { type: 'boolean', instructions: 'x' } } as const;
export const decided = experimental_decide({ model, state: 'x', questions });

export async function ask(model: WasmModel): Promise<number> {
  const client = new TypeSafeClient({ apiKey: '-', fetch: systemOneFetch({ model }) });
  const { answers } = await client.systemOne({ state: 'x', questions: { q: { type: 'noul', instructions: 'x' } } });
  const own = await decide(model, {
    input: 'x',
    questions: { team: { type: 'choice', criteria: ['a', 'b'] }, sad: { type: 'boolean', instructions: 'Sad?' } },
  });
  const team: string = own.answers.team.choice;
  // @ts-expect-error: a question of yes or no has no choice
  own.answers.sad.choice;
  return answers.q.noul + own.answers.sad.probability + team.length;
}
`;

test('the types fit the packages', () => mustCompile('decide-types.ts', TYPED));
