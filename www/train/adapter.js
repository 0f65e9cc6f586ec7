// What was learned as a file: saved, shared, loaded, taken off.

import { $, announce, make } from '../demo/dom.js';
import { bytes } from '../demo/words.js';
import { clearAnswers } from './answers.js';
import { current, hideError, listeners, settle, showError } from './state.js';

/** Puts an adapter in place of the one there was: `{ id, file, name, words }`. */
export async function takeAdapter(adapter) {
  const { adapter: before, model } = current;
  current.adapter = adapter;
  if (before && before.id !== adapter?.id) await model.removeAdapter(before.id).catch(() => {});
  settle();
}

const fileOf = ({ file, name }) => new File([file], name, { type: 'application/octet-stream' });

function save() {
  const url = URL.createObjectURL(fileOf(current.adapter));
  make('a', { href: url, download: current.adapter.name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  announce(`${current.adapter.name} is saved`);
}

/** By what the device shares with. A person who closes the sheet has not made an error. */
async function share() {
  try {
    await navigator.share({ files: [fileOf(current.adapter)], title: current.adapter.name });
  } catch (error) {
    if (error.name !== 'AbortError') showError(error, 'The file could not be shared');
  }
}

const canShare = () => Boolean(current.adapter && navigator.canShare?.({ files: [fileOf(current.adapter)] }));

async function loadFile(file) {
  hideError();
  try {
    const id = await current.model.addAdapter(file);
    await takeAdapter({ id, file, name: file.name, words: `loading ${file.name}` });
    clearAnswers();
    announce(`${file.name} is loaded`);
  } catch (error) {
    showError(error, `${file.name} could not be loaded`);
  }
}

async function takeOff() {
  await takeAdapter(undefined);
  clearAnswers();
  announce('The model is as it was');
  $('start').focus();
}

function show() {
  const { adapter, model, training } = current;
  $('save').disabled = !adapter?.file || Boolean(training);
  $('share').hidden = !canShare();
  $('adapter-file').disabled = !model || Boolean(training);
  $('drop-adapter').hidden = !adapter || Boolean(training);
  $('adapter-words').textContent = adapter?.file
    ? `${adapter.name}, ${bytes(adapter.file.size)}: a GGUF file that webgguf and llama.cpp load with this model.`
    : 'What is learned becomes a GGUF file that webgguf and llama.cpp load with the model.';
}

export function wireAdapter() {
  $('save').addEventListener('click', save);
  $('share').addEventListener('click', share);
  $('drop-adapter').addEventListener('click', takeOff);
  $('adapter-file').addEventListener('change', () => {
    const [file] = $('adapter-file').files;
    $('adapter-file').value = '';
    if (file) void loadFile(file);
  });
  listeners.add(show);
}
