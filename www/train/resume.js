// A training that was interrupted, by a reload, a closed tab or a person: the page offers to go on with it.

import { deleteTraining, savedTrainings } from '../../dist/training/index.js';
import { $, announce, confirmed } from '../demo/dom.js';
import { isSame, originFrom, whereFrom } from '../demo/origins.js';
import { keep, recall, trainingName } from './kept.js';
import { current, listeners, showError } from './state.js';

/** Between two writes of the losses, in milliseconds. */
const EVERY = 5000;
/** The words say how long ago it was. */
const MINUTE = 60_000;

/**
 * The training of an earlier time, if there is one.
 * @type {{step: number, steps: number, saved: Date, loss?: number, begun: object} | undefined}
 */
let found;
let points = [];
let written = Number.NEGATIVE_INFINITY;

/** What can be gone on with; nothing while the model learns. */
export const unfinished = () => (current.training ? undefined : found);

/** Looks again for what is kept. */
export async function lookForTraining() {
  const name = trainingName();
  const kept = (await savedTrainings().catch(() => [])).find((one) => one.name === name);
  const begun = kept && (await recall('run'));
  found = begun && kept.steps > 0 ? { ...kept, begun } : undefined;
  show();
}

/**
 * Keeps a training whose first step is done, with what it began with: examples, and options of `trainer` and `run`. The
 * one before stays until now, since nothing might have come of this one.
 */
export async function keepBeginning(trainer, { examples, options, runOptions }) {
  found = undefined;
  points = points.slice(-1);
  await keep('points', points);
  await keep('run', { examples, options, runOptions, model: whereFrom(current.origin) });
  try {
    await trainer.save();
  } catch (error) {
    // What was kept before does not fit to this beginning.
    await deleteTraining(trainingName()).catch(() => {});
    throw error;
  }
}

/** The losses until `step`, as they were drawn. */
export async function recallPoints(step) {
  points = ((await recall('points')) ?? []).filter((point) => point.step <= step);
  return points;
}

/** Notes the loss of a step, which is written now and then. */
export function keepPoint({ step, steps, loss, heldOutLoss }) {
  points = points.filter((point) => point.step < step); // after a lost GPU steps go back
  points.push({ step, steps, loss, heldOutLoss });
  if (performance.now() - written < EVERY) return;
  written = performance.now();
  void keep('points', points);
}

/** Writes all losses. */
export const keepPoints = () => keep('points', points);

/** Deletes what is kept of it, its examples with it. */
async function forget() {
  try {
    await deleteTraining(trainingName());
    await Promise.all([keep('run', undefined), keep('points', undefined)]);
    announce('The training is forgotten');
  } catch (error) {
    showError(error, 'The training could not be deleted');
  }
  await lookForTraining();
  $('start').focus();
}

/** The model of a training, where it is not the one that is loaded: `source` is missing for files. */
export function otherModel({ begun }) {
  const origin = originFrom(begun.model);
  return current.origin && isSame(origin, current.origin) ? undefined : origin;
}

// ---- what is shown --------------------------------------------------------------------------------------------------

/** How long ago, in words. */
export function ago(date, now = Date.now()) {
  const minutes = Math.floor((now - date) / MINUTE);
  if (minutes < 1) return 'just now';
  const format = (count, unit) => new Intl.RelativeTimeFormat('en', { numeric: 'always' }).format(-count, unit);
  if (minutes < 60) return format(minutes, 'minute');
  return minutes < 24 * 60 ? format(Math.floor(minutes / 60), 'hour') : format(Math.floor(minutes / 1440), 'day');
}

function words({ step, steps, saved, begun }, other) {
  const count = begun.examples.length;
  const what = `${count} ${count === 1 ? 'example' : 'examples'}`;
  const done = step < steps ? `was interrupted at step ${step} of ${steps}` : `is done with all ${steps} steps`;
  const where = other ? ` of ${other.label}` : '';
  const missing = other && !other.source ? ` To go on, choose the file ${other.label} under “Another model”.` : '';
  return `A training${where} with ${what} ${done}; saved ${ago(saved)}.${missing}`;
}

function show() {
  const one = unfinished();
  // The adapter that a finished one has made is on the page already.
  const isOffered = Boolean(one && current.model && !(one.step === one.steps && current.adapter));
  $('kept').hidden = !isOffered;
  $('start').textContent = isOffered && one.step < one.steps ? 'Start again' : 'Start training';
  $('start').classList.remove('asking');
  $('start').classList.toggle('quiet', isOffered);
  if (!isOffered) return;
  const other = otherModel(one);
  $('kept-words').textContent = words(one, other);
  $('go-on').textContent = one.step < one.steps ? `Go on from step ${one.step}` : 'Take its adapter';
  const canTrain = other ? Boolean(other.source) : current.model.info.backend === 'webgpu';
  $('go-on').disabled = !canTrain || Boolean(current.loading);
}

export function wireResume(goOn) {
  $('go-on').addEventListener('click', goOn);
  confirmed($('forget'), 'Forget this training?', forget);
  listeners.add(show);
  setInterval(() => !document.hidden && show(), MINUTE / 2);
}
