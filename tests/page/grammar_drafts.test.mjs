// Answers in JSON by a schema with drafts: the texts are those without, alone and in four lanes, whether the drafts
// come from a prediction, from the text or from a model, and whether a state can be cut back or has to be read again.

import assert from 'node:assert/strict';
import { ALL, testIf } from '../long.mjs';
import { openSite } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });
const page = await site.open('/blank');

/** An answer of a ticket office, whose notes are long. */
const SCHEMA = {
  type: 'object',
  properties: {
    kind: { enum: ['ferry', 'train'] },
    stops: {
      type: 'array',
      minItems: 2,
      maxItems: 2,
      items: {
        type: 'object',
        properties: {
          town: { type: 'string', minLength: 20, maxLength: 30 },
          minute: { type: 'integer', minimum: 0, maximum: 59 },
        },
        required: ['town', 'minute'],
        additionalProperties: false,
      },
    },
    open: { type: 'boolean' },
  },
  required: ['kind', 'stops', 'open'],
  additionalProperties: false,
};
/** A schema that forces few tokens: all but the quotation marks is the model's. */
const LOOSE = { type: 'array', items: { type: 'string', minLength: 20, maxLength: 40 }, minItems: 2, maxItems: 2 };
const QUESTIONS = ['When does it go?', 'Which towns?', 'aaaa aaaa aaaa', 'Once upon a time'];

/** The answers to questions, one after the other or at once, by OpenAI's API. Runs in the page. */
async function inPage({ url, load, requests, together, most }) {
  const { Gpu, WasmModel } = await import('/dist/index.js');
  const { webggufFetch } = await import('/dist/openai/index.js');
  const gpu = load.parallel ? undefined : (globalThis.gpu ??= await Gpu.create());
  const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 512, gpu, ...load });
  const fetch = webggufFetch({ model });
  // A model with random weights writes the letters that it is made to write, within strings and elsewhere, where the
  // grammar refuses them.
  const bias = {};
  for (const letter of ['a', 'e', 'x']) bias[(await model.tokenize(`x${letter}`)).at(-1)] = 60;
  const answer = async ({ draft, question, schema, prediction, ...more }) => {
    if (draft !== undefined) {
      const grammar = { jsonSchema: schema };
      const { text, finishReason, usage } = await model.generate([{ role: 'user', content: question }], {
        ...{ maxTokens: most, logitBias: bias, draft, grammar, ...more },
        ...(prediction !== undefined && { prediction }),
      });
      return { text, finishReason, right: usage.acceptedDraftTokens, wrong: usage.rejectedDraftTokens };
    }
    const body = JSON.stringify({
      ...{ model: 'm', messages: [{ role: 'user', content: question }], max_tokens: most, logit_bias: bias },
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
      ...(prediction !== undefined && { prediction: { type: 'content', content: prediction } }),
      ...more,
    });
    const response = await fetch('http://webgguf/v1/chat/completions', { method: 'POST', body });
    const { choices, usage, error } = await response.json();
    if (error) throw new Error(error.message);
    const details = usage.completion_tokens_details;
    const [right, wrong] = [details.accepted_prediction_tokens, details.rejected_prediction_tokens];
    return { text: choices[0].message.content, finishReason: choices[0].finish_reason, right, wrong };
  };
  try {
    if (together) return await Promise.all(requests.map(answer));
    const found = [];
    for (const request of requests) found.push(await answer(request));
    return found;
  } finally {
    await model.free();
  }
}

/** White space counts as well, of which a model with random weights writes much. */
const MOST_TOKENS = 160;

const answers = (argument) => page.evaluate(inPage, { ...argument, most: MOST_TOKENS });

/** Each question with each schema, greedily and drawn. */
const asked = () =>
  QUESTIONS.map((question, at) => ({
    question,
    schema: at % 2 ? LOOSE : SCHEMA,
    ...(at > 1 ? { temperature: 0.7, seed: at } : { temperature: 0 }),
  }));

/** What is asked, where the answer begins as `text` and then goes on in another way. */
const misled = (text) => `${text.slice(0, text.length / 2)}"otherwise": [0, 1, 2, 3]}`;

function check(found, expected, what, t) {
  const counts = found.map(({ right, wrong }) => `${right}/${right + wrong}`).join(', ');
  t.diagnostic(`${what}: ${counts} drafted tokens were right`);
  const said = ({ text, finishReason }) => [text, finishReason];
  assert.deepEqual(found.map(said), expected.map(said), what);
}

const sum = (found) => found.reduce((all, { right }) => all + right, 0);

/** Compares OpenAI's API with a prediction to the same without. It asks for no drafts. */
async function compareOpenAi(t, { url, requests }) {
  const without = await answers({ url, load: {}, requests });
  const predicted = requests.map((each, at) => ({ ...each, prediction: without[at].text }));
  const found = await answers({ url, load: { parallel: 4 }, requests: predicted, together: true });
  check(found, without, "OpenAI's prediction, four lanes", t);
}

/** What `npm test` runs of all ways. */
const QUICK = ['a prediction, four lanes'];

/** Compares what a model answers with drafts to what it answers without. */
async function compare(t, { url, draft }) {
  const requests = asked();
  const without = await answers({ url, load: {}, requests: requests.map((each) => ({ ...each, draft: false })) });
  assert.ok(
    without.every(({ right, wrong }) => right + wrong === 0),
    'no drafts where none are wanted',
  );
  const whole = without.filter(({ finishReason }) => finishReason === 'stop');
  for (const { text } of whole) JSON.parse(text);
  assert.ok(whole.length > 1, `${whole.length} answers ended`);
  const predicted = (of) => requests.map((each, at) => ({ ...each, prediction: of(without[at].text) }));
  const right = predicted((text) => text);
  const wrong = predicted(misled);
  const repeated = requests.map((each) => ({ ...each, draft: 'prompt' }));
  const [alone, lanes] = [{}, { parallel: 4 }];
  const ways = [
    ['a prediction', alone, right.map((each) => ({ ...each, draft: 'prompt' })), true],
    ['a wrong prediction', alone, wrong.map((each) => ({ ...each, draft: 'prompt' })), true],
    ['the text', alone, repeated, false],
    ['a prediction, four lanes', lanes, right.map((each) => ({ ...each, draft: 'prompt' })), true],
    ['a wrong prediction, four lanes', lanes, wrong.map((each) => ({ ...each, draft: 'prompt' })), false],
  ];
  if (draft) {
    const drafted = requests.map((each) => ({ ...each, draft: 'model' }));
    ways.push(['a model', { draft }, drafted, false], ['a model, four lanes', { draft, ...lanes }, drafted, false]);
  }
  await compareOpenAi(t, { url, requests });
  for (const [what, load, list, isOfUse] of ALL ? ways : ways.filter(([what]) => QUICK.includes(what))) {
    const found = await answers({ url, load, requests: list, together: load === lanes || load.parallel });
    check(found, without, what, t);
    if (isOfUse) assert.ok(sum(found) > 0, `${what}: the test says nothing`);
  }
}

const MODELS = '/fixtures/models';
for (const [name, draft, isQuick] of [
  ['llama-q4_0', 'llama-q4_0', false],
  ['lfm2-q8_0', undefined, true],
  ['qwen35-q8_0', undefined, false],
]) {
  testIf(isQuick)(`${name}: JSON by a schema with drafts is the JSON without`, (t) =>
    compare(t, { url: `${MODELS}/${name}.gguf`, draft: draft && `${MODELS}/${draft}.gguf` }),
  );
}
