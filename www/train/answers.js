// What the model writes before and after training, side by side.

import { $ } from '../demo/dom.js';
import { current, hideError, listeners, showError } from './state.js';

/** Tokens of an answer here. */
const LONGEST = 40;
/** What logits that are no numbers mean here, where the model alone has them. */
const OVERFLOW = 'With the adapter the model computes no numbers: a smaller learning rate may help.';

/** The prompt whose answer stands under "Before". */
let asked;
/** While the model learns, questions wait for the end of a step. */
let waiting = false;
let busy = false;

const prompt = () => $('prompt').value.trim();

/** Errors after which the model does nothing more. */
const ENDS = ['device_lost', 'worker_lost'];

/** Writes an answer into an element, as it comes. Where there is none, that is said there: a training need not end. */
async function write(target, adapters) {
  try {
    await writeText(target, adapters);
  } catch (error) {
    if (ENDS.includes(error.code)) throw error;
    console.error(error);
    const isOverflow = error.code === 'bad_file' && adapters.length > 0;
    waits(target, `No answer. ${isOverflow ? OVERFLOW : error.message}`);
  }
}

async function writeText(target, adapters) {
  const { model } = current;
  const text = prompt();
  const content = model.info.hasChatTemplate ? [{ role: 'user', content: text }] : text;
  target.classList.remove('waits');
  target.textContent = '';
  const options = { maxTokens: LONGEST, temperature: 0, adapters };
  for await (const piece of model.generate(content, options)) target.textContent += piece.text;
  if (target.textContent.trim() === '') target.textContent = '(nothing)';
}

function waits(target, words) {
  target.classList.add('waits');
  target.textContent = words;
}

/** The answer of the model alone, where the question has changed. */
export async function writeBefore() {
  if (asked === prompt()) return;
  asked = prompt();
  await write($('before'), []);
}

/** The answer with what was learned so far; `when` says how far that is. */
export async function writeAfter(id, when) {
  $('after-when').textContent = when;
  await write($('after'), [{ id }]);
}

/** Whether a question waits, which is then taken as answered. */
export function takeWaiting() {
  const was = waiting;
  waiting = false;
  return was;
}

/** Another model, or another adapter: what stands there is no longer true. */
export function clearAnswers({ before = false } = {}) {
  if (before) {
    asked = undefined;
    waits($('before'), 'What the model says now. Ask it.');
  }
  $('after-when').textContent = '';
  waits($('after'), 'What it says once it has learned: it is asked again and again while it trains.');
}

async function ask() {
  hideError();
  if (current.training) {
    waiting = true;
    asked = undefined;
    for (const id of ['before', 'after']) waits($(id), 'Waits for the end of this step …');
    return;
  }
  if (busy) return;
  busy = true;
  show();
  try {
    asked = undefined;
    await writeBefore();
    if (current.adapter) await writeAfter(current.adapter.id, current.adapter.words);
  } catch (error) {
    showError(error, 'The model could not answer');
  }
  busy = false;
  show();
}

function show() {
  $('ask').disabled = !current.model || busy || prompt() === '';
  $('prompt-label').textContent = current.model?.info.hasChatTemplate === false ? 'Beginning of a text' : 'Question';
}

export function wireAnswers(first) {
  $('prompt').value = first;
  $('prompt').addEventListener('input', show);
  $('prompt').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!$('ask').disabled) void ask();
  });
  $('ask-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void ask();
  });
  listeners.add(show);
  clearAnswers({ before: true });
}
