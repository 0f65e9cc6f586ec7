// Training: from the options to an adapter, with the loss, the time and answers shown on the way.

import * as training from '../../dist/training/index.js';
import { $, announce } from '../demo/dom.js';
import { bytes, rate } from '../demo/words.js';
import { takeAdapter } from './adapter.js';
import { clearAnswers, takeWaiting, writeAfter, writeBefore } from './answers.js';
import { addStep, clearChart, showSteps } from './chart.js';
import { counted, isEditing, usable } from './examples.js';
import { trainingName } from './kept.js';
import * as resume from './resume.js';
import { current, hideError, listeners, settle, showError } from './state.js';
import { suggested } from './suggested.js';

/** With fewer examples none is held out. */
const FEWEST_HELD_OUT = 10;
/** The wait between two answers on the way: a multiple of the time of an answer, and at least this long. */
const PATIENCE = { factor: 6, milliseconds: 4000 };
/**
 * Bytes on the GPU for each number that is learned: itself, as it is used and as it was before the step, its gradient
 * in two forms, and two numbers of the optimizer.
 */
const BYTES_PER_PARAMETER = 28;

const FIELDS = ['epochs', 'rate', 'rank', 'length', 'batch', 'held-out'];

/** Set by train.js: loads a model, and says whether it is there. */
export const hooks = { load: async () => false };

const number = (id) => Number($(id).value);
/** Fills in the options that suit the model. */
export const suggestOptions = () => fillOptions(suggested(current.model.info));

/** What the fields hold, by their names. */
export const optionValues = () => Object.fromEntries(FIELDS.map((id) => [id, $(id).value]));

export function fillOptions(values) {
  for (const id of FIELDS) $(id).value = values[id] ?? $(id).value;
  $('length').max = current.model.info.contextLength;
}

/** Tokens of a sequence, as the field says; what is no length counts as the default. */
export const lengthOption = () => (number('length') >= 2 ? Math.floor(number('length')) : 512);

/** What a training begins with, as fields and table say. */
function beginning() {
  const examples = usable();
  const heldOut = examples.length >= FEWEST_HELD_OUT ? number('held-out') / 100 : 0;
  const rank = number('rank');
  return {
    examples,
    options: { rank, alpha: 2 * rank, learningRate: number('rate') },
    runOptions: {
      epochs: number('epochs'),
      batch: number('batch'),
      length: lengthOption(),
      heldOut,
      ...lossOf(examples),
    },
  };
}

/** Where all examples are pairs of answers, what is learned is to prefer one; among others the better one is a text. */
const lossOf = (examples) => (examples.every(({ rejected }) => rejected !== undefined) ? { loss: 'dpo' } : {});

/** Begins a training, or goes on with the one that is `kept`. */
async function start(kept) {
  hideError();
  const { model } = current;
  const before = current.adapter;
  const run = { started: performance.now(), answered: 0, took: 0, stopped: false, isNew: !kept };
  current.training = run;
  settle();
  clearAnswers();
  say(kept ? 'Getting ready to go on …' : 'Getting ready …');
  if (kept) showOptions(kept.begun);
  clearRun();
  let error;
  try {
    await timed(run, writeBefore);
    await counted(); // which rows can be used
    run.begun = kept?.begun ?? beginning();
    const name = trainingName();
    const options = kept ? { resume: name } : { name, ...run.begun.options };
    run.trainer = await training.trainer(model, { ...options, onWarning: showWarning });
    showMemory(run.trainer, model);
    if (kept) await showBefore(run, kept);
    const isOver = kept && kept.step === kept.steps;
    if (!run.stopped && !isOver) await learn(run);
    await finish(run, before);
  } catch (reason) {
    error = reason;
    await rescue(run);
  } finally {
    await run.trainer?.free().catch(() => {});
    if (run.learned > 0) await resume.keepPoints();
    current.training = undefined;
    await resume.lookForTraining();
    settle();
    $(document.activeElement === document.body ? 'start' : document.activeElement.id || 'start')?.focus();
  }
  if (error) await fail(run, error);
}

/** Where a lost device or worker ends a training that has come further, it goes on by itself. */
async function fail(run, error) {
  const kept = resume.unfinished();
  const isLost = error.code === 'device_lost' || error.code === 'worker_lost';
  if (isLost && run.learned > 0 && kept && kept.step < kept.steps) {
    say('The connection to the GPU was lost. The model is loaded again …');
    if (await hooks.load(current.origin)) {
      announce('Training goes on.');
      return start(kept);
    }
    say('');
  }
  const wayOut = isLost ? [['Load the model again', () => hooks.load(current.origin)]] : [];
  showError(error, run.last ? `Training ended at step ${run.last.step}` : 'Training could not begin', wayOut);
}

/** Goes on with what is kept, with its model. */
async function goOn() {
  const kept = resume.unfinished();
  if (!kept || current.training) return;
  const other = resume.otherModel(kept);
  if (other && !(await hooks.load(other))) return;
  await start(kept);
}

/** Puts the options of a training into the fields. */
function showOptions({ options, runOptions }) {
  const heldOut = runOptions.heldOut > 0 ? { 'held-out': 100 * runOptions.heldOut } : {};
  fillOptions({ ...options, ...runOptions, rate: options.learningRate, ...heldOut });
}

/** Where an earlier training was. */
async function showBefore(run, { step, steps }) {
  run.last = { step, steps };
  showSteps(await resume.recallPoints(step));
  $('run').hidden = false;
}

/** All steps, with an answer now and then. */
async function learn(run) {
  const { examples, runOptions } = run.begun;
  for await (const step of run.trainer.run(examples, runOptions)) {
    run.last = step;
    run.learned = (run.learned ?? 0) + 1;
    showStep(step);
    resume.keepPoint(step);
    if (run.isNew && run.learned === 1) await keepFirst(run);
    const asked = takeWaiting();
    if (asked) await writeBefore();
    if (asked || isTime(run)) await answer(run, step);
    if (run.stopped) break;
  }
}

/** From the first step on a training outlives the page. */
async function keepFirst(run) {
  await resume.keepBeginning(run.trainer, run.begun).catch(showWarning);
}

function isTime({ answered, took }) {
  const wait = Math.max(PATIENCE.milliseconds, PATIENCE.factor * took);
  return performance.now() - answered > wait;
}

/** The model's answer with what was learned so far. */
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
  const time = run.isNew ? ` and ${duration(seconds)}` : '';
  const words = `${run.stopped ? 'Stopped' : 'Done'} after ${run.last.step} steps${time}.`;
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

function clearRun() {
  $('run').hidden = true; // until there is something to see
  $('training-note').hidden = true;
  clearChart(1);
  for (const id of ['loss', 'held-out-loss', 'left', 'speed']) $(id).textContent = '–';
}

const WARNINGS = {
  cache_full: 'There is no room in this browser to keep the training: a closed tab would lose it.',
  limit_exceeded: 'There is no room in this browser to keep the training: a closed tab would lose it.',
  cache_unavailable: 'This browser keeps no trainings here: a closed tab would lose it.',
  feature_missing: 'This browser keeps no trainings here: a closed tab would lose it.',
  device_lost: 'The connection to the GPU was lost. Training goes on from the last copy, at most 30 s before.',
};

/** What went wrong without being an end. */
function showWarning({ code, message }) {
  $('training-note').textContent = WARNINGS[code] ?? message;
  $('training-note').hidden = false;
}

function say(words) {
  $('training-status').textContent = words;
}

function showStep(step) {
  $('run').hidden = false;
  addStep(step);
  const { loss, heldOutLoss, tokensPerSecond, secondsLeft, steps, epoch } = step;
  const { stopped, begun } = current.training;
  $('loss').textContent = loss.toFixed(2);
  if (heldOutLoss !== undefined) $('held-out-loss').textContent = heldOutLoss.toFixed(2);
  if (Number.isFinite(secondsLeft)) $('left').textContent = about(secondsLeft);
  if (tokensPerSecond > 0) $('speed').textContent = rate(tokensPerSecond);
  $('training-bar').value = step.step / steps;
  const pass = `pass ${epoch} of ${begun.runOptions.epochs} through the examples`;
  if (!stopped) say(`Step ${step.step} of ${steps}, ${pass}.`);
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

/** 130 → "2 min": what is to come is a guess, and has little room. */
export function about(seconds) {
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Buttons and fields follow the state. */
export function showRun() {
  const isTraining = Boolean(current.training);
  const canTrain = current.model?.info.backend === 'webgpu';
  $('start').hidden = isTraining;
  $('stop').hidden = !isTraining;
  $('start').disabled = !canTrain || isEditing() || usable().length === 0 || Boolean(current.loading);
  $('training-bar').hidden = !isTraining;
  for (const field of $('options').querySelectorAll('input')) field.disabled = isTraining;
}

/** Where a training would be lost that one can go on with, the first press asks. */
function isSure() {
  const kept = resume.unfinished();
  const button = $('start');
  const isOld = kept && kept.step < kept.steps;
  if (!isOld || button.classList.contains('asking')) {
    button.classList.remove('asking');
    return true;
  }
  button.classList.add('asking');
  button.textContent = `Lose step ${kept.step} and start again?`;
  announce(button.textContent);
  return false;
}

export function wireRun() {
  $('options').addEventListener('submit', (event) => {
    event.preventDefault();
    if (!current.training && !$('start').disabled && isSure()) void start();
  });
  $('start').addEventListener('blur', () => $('start').classList.remove('asking'));
  $('stop').addEventListener('click', stop);
  listeners.add(showRun);
  resume.wireResume(goOn);
  // What is hidden may be closed: nothing is to be lost then.
  document.addEventListener('visibilitychange', () => {
    const run = current.training;
    if (document.hidden && run?.learned > 0) void run.trainer.save().catch(() => {});
  });
}
