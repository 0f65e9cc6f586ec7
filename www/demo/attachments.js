// Pictures and sounds for the next message: dropped, pasted, chosen or recorded, shown above the field, and removed
// again.

import { wireCamera } from './camera.js';
import { $, announce, button, make, tool } from './dom.js';
import { wireMicrophone } from './microphone.js';
import { describe, looksLikePicture, readPicture, showBlob } from './pictures.js';
import { clock, describeSound, looksLikeSound, readSound } from './sounds.js';
import { current, showView } from './state.js';

/** Set by demo.js: `models()` opens the list of models. */
export const hooks = { models: () => {} };

/** @typedef {import('./pictures.js').Picture | import('./sounds.js').Sound} Attachment */

/** @type {Attachment[]} */
let attached = [];
/** Resolves once all files that were given are read. */
let reading = Promise.resolve();
let unread = 0;

/** What a model that takes this kind does, and what one that does not is told to lack. */
const KINDS = {
  picture: { attribute: 'data-sees', verb: 'see pictures', encoder: 'images', other: 'Choose a model that sees' },
  sound: { attribute: 'data-hears', verb: 'hear sounds', encoder: 'sounds', other: 'Choose a model that hears' },
};

/** Whether the model that is loaded takes attachments of this kind: `picture` or `sound`. */
export const takes = (kind) => document.documentElement.hasAttribute(KINDS[kind].attribute);

/** Whether a file may be something for a message. */
export const looksLikeAttachment = (file) => looksLikeSound(file) || looksLikePicture(file);

export const hasAttachments = () => attached.length > 0 || unread > 0;

/** The attachments for a message, once they are read; they are no longer in the composer then. */
export async function takeAttachments() {
  while (unread > 0) await reading;
  const taken = attached;
  show([]);
  return taken;
}

/** Puts attachments back: the message was not sent. */
export function returnAttachments(attachments) {
  show([...attachments, ...attached]);
}

/** Whether the model takes all that is attached; where it does not, says so. */
export function suitsAttachments() {
  const refused = attached.find(({ kind }) => !takes(kind));
  if (refused) sayUnable(refused.kind);
  return !refused;
}

/** Says that the model sees or hears nothing, with the way to one that does. */
function sayUnable(kind) {
  const { verb, encoder, other } = KINDS[kind];
  const { origin, model } = current;
  const words = model ? `${origin.label} cannot ${verb}: it has no encoder of ${encoder}. ` : 'No model is loaded. ';
  note(words, button(other, hooks.models, 'link'));
}

export function hideNote() {
  $('attach-note').hidden = true;
}

function note(...words) {
  $('attach-note').replaceChildren(...words);
  $('attach-note').hidden = false;
  showView('chat');
}

const kindOf = (file) => (looksLikeSound(file) ? 'sound' : 'picture');

/** Takes files that a person gave; those that are neither pictures nor sounds are named. */
export function attach(files) {
  if (files.length === 0) return;
  hideNote();
  const wanted = files.filter((file) => takes(kindOf(file)));
  if (wanted.length < files.length) sayUnable(kindOf(files.find((file) => !takes(kindOf(file)))));
  if (wanted.length === 0) return;
  unread += wanted.length;
  reading = reading.then(() => readAll(wanted));
}

async function readAll(files) {
  const problems = [];
  const added = [];
  for (const file of files) {
    try {
      const attachment = await (kindOf(file) === 'sound' ? readSound(file) : readPicture(file));
      show([...attached, attachment]);
      added.push(attachment);
    } catch (error) {
      problems.push(error.message);
    }
    unread -= 1;
  }
  if (problems.length > 0) note(problems.join(' '));
  if (added.length > 0) announce(addedWords(added));
}

function addedWords([first, ...more]) {
  if (more.length === 0) return `A ${first.kind} is attached`;
  const isOneKind = more.every(({ kind }) => kind === first.kind);
  return `${more.length + 1} ${isOneKind ? `${first.kind}s` : 'files'} are attached`;
}

// ---- the row of attachments -----------------------------------------------------------------------------------------

function show(attachments) {
  attached = attachments;
  $('attached').replaceChildren(...attachments.map(item));
  $('attached').hidden = attachments.length === 0;
}

function item(attachment) {
  const shown = attachment.kind === 'sound' ? soundTile(attachment) : pictureTile(attachment);
  const remove = tool({ className: 'remove', words: 'Remove', name: 'remove', label: `Remove ${attachment.name}` });
  remove.addEventListener('click', () => removeAt(attached.indexOf(attachment)));
  return make('li', {}, shown, remove);
}

function pictureTile(picture) {
  const image = make('img', { alt: describe(picture), title: describe(picture) });
  showBlob(image, picture.thumbnail);
  return image;
}

function soundTile(sound) {
  const { name, seconds } = sound;
  const time = make('span', { className: 'length' }, clock(seconds));
  return make('span', { className: 'sound-tile', title: describeSound(sound) }, make('span', {}, name), time);
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
  const pasted = [...(files ?? [])].filter(looksLikeAttachment);
  if (pasted.length === 0 || types.includes('text/plain')) return;
  event.preventDefault();
  attach(pasted);
}

/** Words and choice of the button that adds files, for the model that is loaded. */
export function showTaken() {
  const kinds = Object.keys(KINDS).filter(takes);
  const words = `Add ${kinds.map((kind) => `${kind}s`).join(' or ')}`;
  Object.assign($('add-files'), { ariaLabel: words, title: words });
  $('files').accept = kinds.map((kind) => (kind === 'sound' ? 'audio/*' : 'image/*')).join();
  $('drop-kinds').textContent = kinds.map((kind) => `${kind}s`).join(' or ');
}

export function wireAttachments() {
  const input = $('files');
  $('add-files').addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    attach([...input.files]);
    input.value = ''; // so that the same file can be chosen again
  });
  $('attached').addEventListener('keydown', onKey);
  addEventListener('paste', onPaste);
  wireCamera({ attach, note, hideNote });
  wireMicrophone({ attach, note, hideNote });
}
