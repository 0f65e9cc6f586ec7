// Pictures for the next message: dropped, pasted, chosen or taken, shown above the field, and removed again.

import { wireCamera } from './camera.js';
import { $, announce, button, make, tool } from './dom.js';
import { describe, looksLikePicture, readPicture, showBlob } from './pictures.js';
import { current, showView } from './state.js';

/** Set by demo.js: `models()` opens the list of models. */
export const hooks = { models: () => {} };

/** @type {import('./pictures.js').Picture[]} */
let attached = [];
/** Resolves once all files that were given are read. */
let reading = Promise.resolve();
let unread = 0;

/** Whether the model that is loaded takes pictures. */
export const canSee = () => document.documentElement.hasAttribute('data-sees');

export const hasPictures = () => attached.length > 0 || unread > 0;

/** The pictures for a message, once they are read; they are no longer in the composer then. */
export async function takePictures() {
  while (unread > 0) await reading;
  const taken = attached;
  show([]);
  return taken;
}

/** Puts pictures back: the message was not sent. */
export function returnPictures(pictures) {
  show([...pictures, ...attached]);
}

/** Says that the model sees nothing, with the way to one that does. */
export function sayBlind() {
  const { origin, model } = current;
  const words = model ? `${origin.label} cannot see pictures: it has no encoder of images. ` : 'No model is loaded. ';
  note(words, button('Choose a model that sees', hooks.models, 'link'));
}

export function hideNote() {
  $('picture-note').hidden = true;
}

function note(...words) {
  $('picture-note').replaceChildren(...words);
  $('picture-note').hidden = false;
  showView('chat');
}

/** Takes files that a person gave; those that are no pictures are named. */
export function attach(files) {
  if (files.length === 0) return;
  hideNote();
  if (!canSee()) return sayBlind();
  unread += files.length;
  reading = reading.then(() => readAll(files));
}

async function readAll(files) {
  const problems = [];
  for (const file of files) {
    try {
      const picture = await readPicture(file);
      show([...attached, picture]);
    } catch (error) {
      problems.push(error.message);
    }
    unread -= 1;
  }
  if (problems.length > 0) note(problems.join(' '));
  const added = files.length - problems.length;
  if (added > 0) announce(`${added === 1 ? 'A picture is' : `${added} pictures are`} attached`);
}

// ---- the row of pictures --------------------------------------------------------------------------------------------

function show(pictures) {
  attached = pictures;
  $('attached').replaceChildren(...pictures.map(item));
  $('attached').hidden = pictures.length === 0;
}

function item(picture) {
  const image = make('img', { alt: describe(picture), title: describe(picture) });
  showBlob(image, picture.thumbnail);
  const remove = tool({ className: 'remove', words: 'Remove', name: 'remove', label: `Remove ${picture.name}` });
  remove.addEventListener('click', () => removeAt(attached.indexOf(picture)));
  return make('li', {}, image, remove);
}

/** The focus goes to what stands in its place. */
function removeAt(at) {
  announce(`Removed ${attached[at].name}`);
  show(attached.filter((_, index) => index !== at));
  const left = [...$('attached').querySelectorAll('.remove')];
  (left[Math.min(at, left.length - 1)] ?? $('prompt')).focus();
}

function onKey(event) {
  const { target, key } = event;
  const at = [...$('attached').querySelectorAll('.remove')].indexOf(target);
  if (at < 0) return;
  if (key === 'Delete' || key === 'Backspace') removeAt(at);
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step) $('attached').querySelectorAll('.remove')[at + step]?.focus();
  if (step || key === 'Delete' || key === 'Backspace') event.preventDefault();
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

/** Pasted text stays text, also where a picture of it comes with it. */
function onPaste(event) {
  const { files, types } = event.clipboardData ?? {};
  const pictures = [...(files ?? [])].filter(looksLikePicture);
  if (pictures.length === 0 || types.includes('text/plain')) return;
  event.preventDefault();
  attach(pictures);
}

export function wirePictures() {
  const input = $('picture-files');
  $('add-pictures').addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    attach([...input.files]);
    input.value = ''; // so that the same file can be chosen again
  });
  $('attached').addEventListener('keydown', onKey);
  addEventListener('paste', onPaste);
  wireCamera({ attach, note, hideNote });
}
