// Clients of decision models over webgguf: `experimental_decide` of the AI SDK, `@typesafe-ai/sdk` over
// `/v1/systemone`, and `openai` over `/decisions`, by the storyteller on the CPU path.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, test } from 'node:test';
import { createWebgguf } from '../../dist/ai-sdk/index.js';
import { decide, systemOneFetch } from '../../dist/decide/index.js';
import { WasmModel } from '../../dist/index.js';
import { webggufFetch } from '../../dist/openai/index.js';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
const ai = await import(tool('ai', 'dist/index.js'));
const { default: OpenAI } = await import(tool('openai', 'index.mjs'));
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

test('openai: decisions.create, with messages, choices of true and false, and refusals', async () => {
  const client = new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', maxRetries: 0, fetch: webggufFetch({ model }) });
  const choices = [{ value: 'billing', description: 'Payments.' }, { value: true }];
  const levels = [{ label: 'Calm', description: 'no anger' }, { label: 'Angry' }];
  const questions = [
    { type: 'predicate', name: 'refund', instructions },
    { type: 'choice', name: 'team', instructions: [{ type: 'input_text', text: 'Who answers?' }], choices },
    { type: 'score', instructions: 'How angry?', levels },
  ];
  const found = await client.decisions.create({ model: 'mine', input: state, questions });
  const asked = {
    q0: { type: 'boolean', instructions },
    q1: { type: 'choice', instructions: 'Who answers?', criteria: { billing: 'Payments.', true: null } },
    q2: { type: 'score', instructions: 'How angry?', criteria: ['Calm: no anger', 'Angry'] },
  };
  const { answers: wanted, usage } = await decide(model, { input: state, questions: asked });
  const [refund, team, anger] = found.answers;
  alike(refund, { type: 'predicate', name: 'refund', probability: wanted.q0.probability });
  const { billing, true: yes } = wanted.q1.probabilities;
  alike(team.probabilities, [
    { value: 'billing', probability: billing },
    { value: true, probability: yes },
  ]);
  assert.equal(team.choice, billing > yes ? 'billing' : true);
  alike(team.confidence, 2 * Math.max(billing, yes) - 1);
  alike([anger.name, anger.score], [null, wanted.q2.score]);
  alike(anger.probabilities[1], { label: 'Angry', value: 1, probability: wanted.q2.probabilities[1] });
  assert.deepEqual([found.model, found.usage.input_tokens], ['mine', usage.promptTokens]);

  const input = [
    { role: 'developer', content: 'You sort letters.' },
    { role: 'user', content: [{ type: 'input_json', data: { from: 'hare' } }] },
    { type: 'function_call', call_id: '1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: '1', output: 'two payments' },
  ];
  const of = await client.decisions.create({ model: 'mine', input, questions: questions.slice(0, 1) });
  const text = 'user: {"from":"hare"}\n\ncall look: {}\n\nresult: two payments';
  const same = await decide(model, { input: text, system: 'You sort letters.', questions: { q0: asked.q0 } });
  alike(of.answers[0].probability, same.answers.q0.probability);

  const refused = (further, message) =>
    assert.rejects(client.decisions.create({ model: 'mine', input: state, questions, ...further }), { message });
  const image = [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,' }] }];
  await refused({ input: image }, /has a part of type 'input_image'; texts and JSON are read/);
  await refused({ questions: [] }, /'questions' must be an array of 1 to 400, found 0/);
  await refused(
    { questions: [{ type: 'box', instructions: 'x' }] },
    /questions\[0\] must be of type predicate, choice/,
  );
  const both = [{ value: true }, { value: 'true' }];
  await refused({ questions: [{ ...questions[1], choices: both }] }, /questions\[0\] has the choice 'true' twice/);
  await refused({ input: [{ type: 'item_reference' }] }, /has an item that is not known here/);
});

const TYPED = `
import { experimental_decide } from 'ai';
import OpenAI from 'openai';
import { openai } from 'DIST/openai/index.js';
import type { Experimental_DecisionModelV4 } from '@ai-sdk/provider';
import { TypeSafeClient } from '@typesafe-ai/sdk';
import { createWebgguf } from 'DIST/ai-sdk/index.js';
import { decide, systemOneFetch } from 'DIST/decide/index.js';
import type { WasmModel } from 'DIST/index.js';

export const model: Experimental_DecisionModelV4 = createWebgguf().decisionModel('a.gguf');
const questions = { q: { type: 'boolean', instructions: 'x' } } as const;
export const decided = experimental_decide({ model, state: 'x', questions });

export async function decision(model: WasmModel): Promise<OpenAI.Decision> {
  const questions: OpenAI.DecisionCreateParams['questions'] = [{ type: 'predicate', instructions: 'x' }];
  const asked = [{ type: 'predicate', instructions: 'x' }] as const;
  await new OpenAI({ fetch: openai({ model }).fetch }).decisions.create({ model: 'x', input: 'x', questions });
  return openai({ model }).decisions.create({ input: 'x', questions: asked });
}

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
