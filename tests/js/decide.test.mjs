// Decisions by the storyteller on the CPU path: probabilities beside whole sequences read at once, how many tokens are
// read, refusals, and the shapes of other interfaces.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { answersOf } from '../../dist/decide/answers.js';
import { calibrate, decide, systemOneFetch } from '../../dist/decide/index.js';
import { itemsOf } from '../../dist/decide/questions.js';

const file = (path) => new Blob([fs.readFileSync(new URL(`../../${path}`, import.meta.url))]);
const model = await WasmModel.load(file('www/models/storyteller.gguf'), { backend: 'cpu' });
after(() => model.free());

const INPUT = 'Once there was a hare who could not swim, and a hedgehog who lived by the river.';
const QUESTIONS = {
  animal: { type: 'choice', instructions: 'Who cannot swim?', criteria: ['hare', 'hedgehog', 'the old hare'] },
  place: { type: 'choice', criteria: { river: 'Water that runs.', forest: null } },
  parts: { type: 'multiple', instructions: 'What is in it?', criteria: { water: 'Wet.', fire: 'Hot.' } },
  sadness: { type: 'score', instructions: 'How sad is it?', criteria: ['Not at all.', 'A little.', 'Very.'] },
  good: { type: 'boolean', instructions: 'Does it end well?', criteria: { true: 'All are glad.' } },
};
/** What the model is asked, by hand. */
const TASKS = {
  animal:
    'Who cannot swim?\nOptions:\n- hare\n- hedgehog\n- the old hare\nAnswer with one of the options, word for word.',
  place: 'Options:\n- river: Water that runs.\n- forest\nAnswer with one of the options, word for word.',
  water: 'What is in it?\nOption: water: Wet.\nDoes this option apply? Answer yes or no.',
  fire: 'What is in it?\nOption: fire: Hot.\nDoes this option apply? Answer yes or no.',
  sadness: 'How sad is it?\nLevels:\n0: Not at all.\n1: A little.\n2: Very.\nAnswer with the number of one level.',
  good: 'Does it end well?\nyes: All are glad.\nAnswer yes or no.',
};

const promptOf = (task, input = INPUT) => model.applyChatTemplate([{ role: 'user', content: `${input}\n\n${task}` }]);

/** Ids of a text as a prompt, and the log-probability of what is behind `from` by the logits of the whole. */
const idsOf = async (text, of = model) => [...(await of.tokenize(text, { parseSpecial: true }))];
async function logprobOf(ids, from, of = model) {
  const { logprobs } = await of.evaluate(ids);
  return logprobs.slice(from - 1).reduce((sum, value) => sum + value, 0);
}

/** The softmax of whole labels, each read with its prompt. */
async function reference(prompt, labels, end = [], of = model) {
  const begun = (await idsOf(prompt, of)).length;
  const scores = [];
  for (const label of labels) scores.push(await logprobOf([...(await idsOf(prompt + label, of)), ...end], begun, of));
  const all = scores.reduce((sum, score) => sum + Math.exp(score), 0);
  return scores.map((score) => Math.exp(score) / all);
}

function near(found, wanted, what) {
  const off = Math.max(...found.map((value, at) => Math.abs(value - wanted[at])));
  assert.ok(off < 1e-3, `${what}: ${found} beside ${wanted}`);
}
const sumOf = (values) => Object.values(values).reduce((sum, value) => sum + value, 0);
const refused = (options, message) =>
  assert.rejects(decide(model, { input: INPUT, ...options }), {
    name: 'WebggufError',
    code: 'invalid_argument',
    message,
  });

test('a probability is of the whole label after the prompt, and the sum is 1', async () => {
  const { answers } = await decide(model, { input: INPUT, questions: QUESTIONS });
  const expected = async (task, labels) => reference(await promptOf(TASKS[task]), labels);
  const { animal, place, parts, sadness, good } = answers;
  near(Object.values(animal.probabilities), await expected('animal', ['hare', 'hedgehog', 'the old hare']), 'animal');
  near(Object.values(place.probabilities), await expected('place', ['river', 'forest']), 'place');
  for (const part of ['water', 'fire']) near([parts.probabilities[part]], await expected(part, ['yes', 'no']), part);
  const levels = await expected('sadness', ['0', '1', '2']);
  near(Object.values(sadness.probabilities), levels, 'sadness');
  near([good.probability], await expected('good', ['yes', 'no']), 'good');
  for (const { probabilities } of [animal, place, sadness]) assert.ok(Math.abs(sumOf(probabilities) - 1) < 1e-12);
  const [best] = Object.entries(animal.probabilities).sort(([, a], [, b]) => b - a);
  assert.equal(animal.choice, best[0]);
  assert.ok(Math.abs(sadness.score - (sadness.probabilities[1] + 2 * sadness.probabilities[2])) < 1e-12);
  assert.deepEqual(parts.choices, []);
  const { answers: lower } = await decide(model, {
    input: INPUT,
    questions: { parts: { ...QUESTIONS.parts, threshold: 0 } },
  });
  assert.deepEqual(lower.parts.choices, ['water', 'fire']);
});

test('a label that begins another is one only with the end of the text behind it', async () => {
  const criteria = ['no', 'not', 'no, never'];
  const { answers } = await decide(model, { input: INPUT, questions: { word: { type: 'choice', criteria } } });
  const options = criteria.map((word) => `- ${word}\n`).join('');
  const task = `Options:\n${options}Answer with one of the options, word for word.`;
  const end = await idsOf(model.info.endOfText);
  assert.equal(end.length, 1);
  near(Object.values(answers.word.probabilities), await reference(await promptOf(task), criteria, end), 'with the end');
});

test('labels, a system message and a layout of the page', async () => {
  const labels = { true: ' ja', false: ' nein' };
  const seen = [];
  const layout = (asked) => {
    seen.push(asked);
    return `${asked.system} ${asked.input} Gut?`;
  };
  const questions = { gut: { type: 'boolean', instructions: 'Gut?', labels } };
  const { answers } = await decide(model, { input: 'Hase.', system: 'Kurz.', questions, layout });
  assert.deepEqual(seen, [
    {
      ...{ input: 'Hase.', system: 'Kurz.', name: 'gut', question: questions.gut, option: undefined },
      ...{ task: 'Gut?\nAnswer  ja or  nein.', labels: [' ja', ' nein'] },
    },
  ]);
  const [bos] = await model.tokenize('x', { addSpecial: true });
  const [plain] = await model.tokenize('x');
  const start = bos === plain ? '' : '<|begin|>';
  near([answers.gut.probability], await reference(`${start}Kurz. Hase. Gut?`, [' ja', ' nein']), 'layout');
  const system = 'You know animals.';
  const asked = await decide(model, { input: INPUT, system, questions: { good: QUESTIONS.good } });
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: `${INPUT}\n\n${TASKS.good}` },
  ];
  near(
    [asked.answers.good.probability],
    await reference(await model.applyChatTemplate(messages), ['yes', 'no']),
    'system',
  );
});

test('what all prompts begin with is read once', async () => {
  const input = `${INPUT} `.repeat(6);
  const topics = ['rain', 'snow', 'bread', 'a king', 'a ship', 'a song', 'the moon', 'a wolf'];
  const questions = Object.fromEntries(
    topics.map((topic) => [topic, { type: 'boolean', instructions: `Is it about ${topic}?` }]),
  );
  await model.reset();
  const { usage } = await decide(model, { input, questions });
  const prompts = [];
  for (const { instructions } of Object.values(questions)) {
    prompts.push(await idsOf(await promptOf(`${instructions}\nAnswer yes or no.`, input)));
  }
  const common = (a, b) => a.findIndex((id, at) => id !== b[at]);
  const shared = common(prompts[0], prompts[1]);
  const own = prompts.reduce((sum, ids) => sum + ids.length - shared, 0);
  assert.ok(shared > 100, `${shared}`);
  assert.equal(
    usage.promptTokens,
    prompts.reduce((sum, { length }) => sum + length, 0),
  );
  assert.ok(usage.passes <= 4 * prompts.length, `${usage.passes}`);
  // Each further pass after a prompt reads one token: the label before it, or the last of the prompt again.
  const again = usage.passes - prompts.length;
  assert.ok(usage.readTokens <= shared + own + again, `${usage.readTokens} of ${shared} + ${own} + ${again}`);
  assert.ok(usage.readTokens * 3 < usage.promptTokens, `${usage.readTokens} of ${usage.promptTokens}`);
});

test('calibration takes away what an input that says nothing would be answered', async () => {
  const calibration = await calibrate(model, { questions: QUESTIONS });
  assert.deepEqual(Object.keys(calibration), Object.keys(QUESTIONS));
  assert.deepEqual(Object.keys(calibration.parts), ['water', 'fire']);
  assert.deepEqual(JSON.parse(JSON.stringify(calibration)), calibration);
  const raw = (await decide(model, { input: INPUT, questions: QUESTIONS })).answers;
  const { answers } = await decide(model, { input: INPUT, questions: QUESTIONS, calibration });
  const odds = (values, offsets) => {
    const weights = values.map((value, at) => value / Math.exp(offsets[at]));
    return weights.map((weight) => weight / sumOf(weights));
  };
  const levels = odds(Object.values(raw.sadness.probabilities), Object.values(calibration.sadness));
  near(Object.values(answers.sadness.probabilities), levels, 'sadness');
  const [yes] = odds([raw.parts.probabilities.fire, 1 - raw.parts.probabilities.fire], [calibration.parts.fire, 0]);
  near([answers.parts.probabilities.fire], [yes], 'fire');
  const { animal: _, place: __, ...questions } = QUESTIONS;
  const several = await calibrate(model, { input: [INPUT, 'N/A'], questions: { good: QUESTIONS.good } });
  const mean = (raw.good.probability + Math.exp(calibration.good.true)) / 2;
  near([Math.exp(several.good.true), Math.exp(several.good.false)], [mean, 1 - mean], 'the mean of two inputs');
  await assert.rejects(calibrate(model, { input: [], questions: QUESTIONS }), /'input' must be a text, or an array/);
  const nothing = { input: 'N/A', questions, calibration: await calibrate(model, { questions }) };
  const { answers: same } = await decide(model, nothing);
  near([same.good.probability, same.sadness.score, same.parts.probabilities.water], [0.5, 1, 0.5], 'nothing');
});

test('a tie is no decision', () => {
  const items = itemsOf('decide', { animal: QUESTIONS.animal });
  assert.throws(() => answersOf('decide', items, [[-2, -9, -2]]), {
    code: 'invalid_argument',
    message: "decide: question 'animal': 'hare' and 'the old hare' are equally likely, 0.500 each",
  });
  assert.equal(answersOf('decide', items, [[-2, -9, -2.001]]).animal.choice, 'hare');
});

test('questions that have no answer are refused by name', async () => {
  const choice = { type: 'choice', criteria: ['a', 'b'] };
  const one = (question) => ({ questions: { q: question } });
  for (const [options, message] of [
    [{ input: 7, questions: { q: choice } }, /decide: input: expected a string, found 7/],
    [{ questions: {} }, /'questions' must have at least one question/],
    [{ questions: [choice] }, /'questions' must be an object of questions by name, found an array of 1/],
    [one('Why?'), /question 'q' must be an object with a 'type'/],
    [one({ type: 'box' }), /question 'q': 'type' must be choice, multiple, score, boolean, found 'box'/],
    [one({ type: 'boolean' }), /question 'q' is empty: it has neither 'instructions' nor 'criteria'/],
    [one({ type: 'boolean', instructions: ' ' }), /question 'q' is empty/],
    [one({ ...choice, options: ['a'] }), /unknown field 'options'; known are type, instructions/],
    [one({ ...choice, instructions: 5 }), /'instructions' must be a string, found 5/],
    [one({ type: 'choice', criteria: ['a'] }), /'criteria' must have 2 options, found 1/],
    [one({ type: 'choice', criteria: ['a', 'b', 'a'] }), /option 'a' is there twice/],
    [one({ type: 'choice', criteria: ['a', ''] }), /an option must have a name, found ''/],
    [one({ type: 'choice', criteria: { a: 1, b: null } }), /the description of 'a' must be a string or null, found 1/],
    [one({ ...choice, labels: { a: 'x', b: 'x' } }), /'a' and 'b' have the same label 'x'/],
    [one({ ...choice, labels: { c: 'x' } }), /'labels' has the unknown label 'c'; known are a, b/],
    [one({ ...choice, labels: { a: ' ' } }), /the label of 'a' must be a text, found ' '/],
    [one({ type: 'score', criteria: ['low'] }), /'criteria' must be an array of 2 levels or more, found 1/],
    [one({ type: 'boolean', criteria: { maybe: 'x' } }), /'criteria' has the unknown label 'maybe'/],
    [one({ type: 'multiple', criteria: ['a', 'b'], threshold: 2 }), /'threshold' must be from 0 to 1, found 2/],
    [{ ...one(choice), calibration: { p: {} } }, /'calibration' has the unknown question 'p'/],
    [{ ...one(choice), calibration: { q: { a: 0, b: 0, c: 0 } } }, /'calibration' has the unknown label 'c'/],
    [{ ...one(choice), calibration: { q: { a: 0 } } }, /'calibration' has no number for 'b'; it needs a, b/],
  ]) {
    await refused(options, message);
  }
  const { parts } = (await decide(model, { input: INPUT, questions: { parts: { ...QUESTIONS.parts } } })).answers;
  assert.ok(Object.values(parts.probabilities).every((value) => value > 0 && value < 1));
  const aborted = decide(model, { input: INPUT, ...one(choice), signal: AbortSignal.abort() });
  await assert.rejects(aborted, { name: 'AbortError' });
});

test('what people write is no special token', async () => {
  const { answers } = await decide(model, { input: `a${model.info.endOfText}b`, questions: { good: QUESTIONS.good } });
  assert.ok(answers.good.probability > 0);
  const questions = { end: { type: 'choice', criteria: [model.info.endOfText, 'x'] } };
  const { answers: ends } = await decide(model, { input: INPUT, questions });
  const plain = await model.tokenize(model.info.endOfText);
  assert.ok(plain.length > 1);
  assert.ok(ends.end.probabilities[model.info.endOfText] < 1e-3, 'the text of several tokens, not the one token');
});

test('/v1/systemone: the same answers in its shape', async () => {
  const fetch = systemOneFetch({ model: Promise.resolve(model) });
  const post = async (body) => {
    const response = await fetch('http://webgguf/v1/systemone', { method: 'POST', body: JSON.stringify(body) });
    return [response.status, await response.json()];
  };
  const { animal, sadness, good } = QUESTIONS;
  const criteria = { hare: 'Long ears.', hedgehog: { has: 'spines' }, 'the old hare': null };
  const questions = {
    animal: { type: 'choice', instructions: animal.instructions, criteria },
    sadness,
    good: { type: 'noul', instructions: { ask: 'Good?' }, criteria: good.criteria },
  };
  const [status, found] = await post({ model: 'any', state: { story: INPUT }, questions });
  assert.equal(status, 200);
  const { answers } = await decide(model, {
    input: JSON.stringify({ story: INPUT }),
    questions: {
      animal: { ...animal, criteria: { ...criteria, hedgehog: '{"has":"spines"}' } },
      sadness,
      good: { ...good, instructions: '{"ask":"Good?"}' },
    },
  });
  near([found.answers.good.noul], [answers.good.probability], 'noul');
  assert.deepEqual(Object.keys(found.answers.good), ['type', 'noul']);
  near(Object.values(found.answers.animal.probabilities), Object.values(answers.animal.probabilities), 'choice');
  assert.equal(found.answers.animal.choice, answers.animal.choice);
  const top = Math.max(...Object.values(answers.animal.probabilities));
  near([found.answers.animal.confidence], [(3 * top - 1) / 2], 'confidence');
  assert.deepEqual(found.answers.sadness.legend, { 0: 'Not at all.', 1: 'A little.', 2: 'Very.' });
  near([found.answers.sadness.score], [answers.sadness.score], 'score');
  assert.equal(found.model, model.info.name);
  assert.ok(found.usage.input_tokens > 100 && found.usage.output_tokens === 0);
  const [wrong, { error }] = await post({ state: 'x', questions: { q: { type: 'box' } } });
  assert.deepEqual([wrong, error.code], [400, 'invalid_argument']);
  assert.match(error.message, /questions.q: 'type' must be noul, choice or score, found 'box'/);
  assert.equal((await post({ state: 'x' }))[0], 400);
  assert.equal((await fetch('http://webgguf/v1/systemone')).status, 405);
  assert.equal((await fetch('http://webgguf/v1/other')).status, 404);
  const { models } = await (await fetch('http://webgguf/v1/models')).json();
  assert.deepEqual(
    models.map(({ name }) => name),
    [model.info.name],
  );
});

for (const name of ['lfm2', 'mamba', 'qwen35']) {
  const path = fs
    .readdirSync(new URL('../fixtures/models', import.meta.url))
    .find((file) => file.startsWith(`${name}-`));
  test(`${name}: a model with states decides as its whole sequences say`, {
    skip: !path && 'no such fixture',
  }, async () => {
    const recurrent = await WasmModel.load(file(`tests/fixtures/models/${path}`), { backend: 'cpu' });
    const labels = ['a b', 'a c', 'ba'];
    const questions = { q: { type: 'choice', criteria: labels } };
    const { answers } = await decide(recurrent, { input: 'abc', questions, layout: ({ input }) => `${input} is ` });
    const [bos] = await recurrent.tokenize('x', { addSpecial: true });
    const [plain] = await recurrent.tokenize('x');
    const head = bos === plain ? [] : [bos];
    const sequences = [];
    for (const label of labels) sequences.push([...head, ...(await idsOf(`abc is ${label}`, recurrent))]);
    const begun = sequences[0].findIndex((id, at) => sequences.some((ids) => ids[at] !== id));
    const scores = [];
    for (const ids of sequences) scores.push(Math.exp(await logprobOf(ids, begun, recurrent)));
    near(
      Object.values(answers.q.probabilities),
      scores.map((score) => score / sumOf(scores)),
      name,
    );
    await recurrent.free();
  });
}
