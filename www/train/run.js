// Training: from the options to an adapter, with the loss, the time and answers shown on the way.

import * as training from '../../dist/training/index.js';
import { $, announce } from '../demo/dom.js';
import { bytes, rate } from '../demo/words.js';
import { takeAdapter } from './adapter.js';
import { clearAnswers, takeWaiting, writeAfter, writeBefore } from './answers.js';
import { addStep, clearChart } from './chart.js';
import { isReady, usable } from './examples.js';
import { current, hideError, listeners, settle, showError } from './state.js';

/** Weights above which a model is asked to learn with more care. */
const LARGE = 5e7;
/** With fewer examples none is held out. */
const FEWEST_HELD_OUT = 10;
/** Between two answers on the way, so many times as long as an answer takes, and at least so long. */
const PATIENCE = { factor: 6, milliseconds: 4000 };
/** Bytes on the GPU for each number that is learned: itself, its gradient, and two of the optimizer. */
const BYTES_PER_PARAMETER = 16;

const number = (id) => Number($(id).value);
/** The options that suit a model. */
export function suggestOptions() {
  const { parameters, contextLength } = current.model.info;
  const isLarge = parameters > LARGE;
  const length = Math.min(isLarge ? 512 : 128, contextLength);
  const values = {
    epochs: isLarge ? 3 : 12,
    rate: isLarge ? 0.0002 : 0.003,
    rank: isLarge ? 16 : 8,
    length,
    batch: isLarge ? 2 : 4,
    'held-out': 10,
  };
  for (const [id, value] of Object.entries(values)) $(id).value = value;
  $('length').max = contextLength;
}

/** Tokens of a sequence, as the field says; what is no length counts as the default. */
export const lengthOption = () => (number('length') >= 2 ? Math.floor(number('length')) : 512);

async function start() {
  hideError();
  const { model } = current;
  const before = current.adapter;
  const run = { started: performance.now(), answered: 0, took: 0, stopped: false };
  current.training = run;
  settle();
  clearAnswers();
  say('Getting ready …');
  $('run').hidden = true; // until there is something to see
  clearChart(1);
  for (const id of ['loss', 'held-out-loss', 'left', 'speed']) $(id).textContent = '–';
  try {
    await timed(run, writeBefore);
    const rank = number('rank');
    run.trainer = await training.trainer(model, { rank, alpha: 2 * rank, learningRate: number('rate') });
    showMemory(run.trainer, model);
    if (!run.stopped) await learn(run);
    await finish(run, before);
  } catch (error) {
    await rescue(run);
    showError(error, run.last ? `Training ended at step ${run.last.step}` : 'Training could not begin');
  } finally {
    await run.trainer?.free().catch(() => {});
    current.training = undefined;
    settle();
    $(document.activeElement === document.body ? 'start' : document.activeElement.id || 'start')?.focus();
  }
}

/** All steps, with an answer now and then. */
async function learn(run) {
  const examples = usable();
  const heldOut = examples.length >= FEWEST_HELD_OUT ? number('held-out') / 100 : 0;
  const options = { epochs: number('epochs'), batch: number('batch'), length: lengthOption(), heldOut };
  for await (const step of run.trainer.run(examples, options)) {
    run.last = step;
    showStep(step);
    const asked = takeWaiting();
    if (asked) await writeBefore();
    if (asked || isTime(run)) await answer(run, step);
    if (run.stopped) break;
  }
}

function isTime({ answered, took }) {
  const wait = Math.max(PATIENCE.milliseconds, PATIENCE.factor * took);
  return performance.now() - answered > wait;
}

/** What the model says with what it has learned so far. */
async function answer(run, { step, steps }) {
  await timed(run, async () => writeAfter(await run.trainer.use(), `step ${step} of ${steps}`));
}

/** Keeps in mind when the last answer was written, and how long that took. */
async function timed(run, work) {
  const begun = performance.now();
  await work();
  run.answered = performance.now();
  run.took = run.answered - begun;
}

async function finish(run, before) {
  if (!run.last) return say('Stopped before the first step.');
  say('Writing the adapter …');
  const taken = await take(run);
  const seconds = (performance.now() - run.started) / 1000;
  const words = `${run.stopped ? 'Stopped' : 'Done'} after ${run.last.step} steps and ${duration(seconds)}.`;
  say(words);
  announce(words);
  if (before && before.id !== taken.id) await current.model.removeAdapter(before.id).catch(() => {});
  await writeAfter(taken.id, taken.words);
}

/** Makes what was learned the adapter of the page. */
async function take({ trainer, last }) {
  const id = await trainer.use();
  const file = await trainer.adapter();
  const name = `${current.origin.label.replace(/\.gguf$/i, '').replaceAll(/[^\w.-]+/g, '-')}-adapter.gguf`;
  const adapter = { id, file, name, words: last.step === 1 ? 'one step' : `${last.step} steps` };
  current.adapter = undefined; // use() has put it in the place of the one before
  await takeAdapter(adapter);
  return adapter;
}

/** After an error what was learned before it is kept. */
async function rescue(run) {
  say('');
  if (!run.last) return;
  const kept = await take(run).catch(() => undefined);
  if (kept) say(`What was learned until then is kept.`);
}

function stop() {
  const run = current.training;
  if (!run) return;
  run.stopped = true;
  say('Stopping after this step …');
  run.trainer?.stop?.();
}

// ---- what is shown --------------------------------------------------------------------------------------------------

function say(words) {
  $('training-status').textContent = words;
}

function showStep(step) {
  $('run').hidden = false;
  addStep(step);
  const { loss, heldOutLoss, tokensPerSecond, secondsLeft, steps, epoch } = step;
  $('loss').textContent = loss.toFixed(2);
  if (heldOutLoss !== undefined) $('held-out-loss').textContent = heldOutLoss.toFixed(2);
  if (Number.isFinite(secondsLeft)) $('left').textContent = duration(secondsLeft);
  if (tokensPerSecond > 0) $('speed').textContent = rate(tokensPerSecond);
  $('training-bar').value = step.step / steps;
  if (!current.training?.stopped) say(`Step ${step.step} of ${steps}, time ${epoch} through the examples.`);
}

function showMemory({ parameters }, { info }) {
  if (!(parameters > 0)) return;
  const learned = bytes(BYTES_PER_PARAMETER * parameters);
  const all = bytes(info.gpuBytes + BYTES_PER_PARAMETER * parameters);
  $('memory').textContent =
    `${parameters.toLocaleString('en')} numbers are learned. GPU memory: ${all}, of which ${learned} for them, and ` +
    'more while a step is computed.';
}

/** 130 → "2 min 10 s". */
export function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
}

/** Buttons and fields follow the state. */
export function showRun() {
  const isTraining = Boolean(current.training);
  const canTrain = current.model?.info.backend === 'webgpu';
  $('start').hidden = isTraining;
  $('stop').hidden = !isTraining;
  $('start').disabled = !canTrain || !isReady() || usable().length === 0 || Boolean(current.loading);
  $('training-bar').hidden = !isTraining;
  for (const field of $('options').querySelectorAll('input')) field.disabled = isTraining;
}

export function wireRun() {
  $('options').addEventListener('submit', (event) => {
    event.preventDefault();
    if (!current.training && !$('start').disabled) void start();
  });
  $('stop').addEventListener('click', stop);
  listeners.add(showRun);
}
