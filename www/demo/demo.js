// The demo page: loads a model and keeps conversations with it. This file puts the parts together: state.js holds
// what they share, load.js loads models, conversation.js lets them answer.

import { cache } from '../../dist/index.js';
import { CATALOGUE, sizeOf } from './catalogue.js';
import { closeCamera } from './camera.js';
import { showChats, showFull, wireChats } from './chats.js';
import * as attachments from './attachments.js';
import * as conversation from './conversation.js';
import { $, announce, confirmed, copy, flash } from './dom.js';
import { applyJson, checkSchema, currentJson, wireJson } from './json.js';
import * as loading from './load.js';
import { forget, recall, recallChat, recallChats, remember } from './memory.js';
import { showBuiltInUse, showModel, showNoModel } from './model-card.js';
import { openModels, wireModels } from './models.js';
import { forgetOffline, workOffline } from './offline.js';
import { closeMicrophone } from './microphone.js';
import { BUILT_IN, foreignFiles, hasSameFiles, isSame, linkOf, originFrom, originOf, whereFrom } from './origins.js';
import { dropUnused, forgetAttachments } from './attachment-store.js';
import { applySettings, currentSettings, loadOptions, makeSliders } from './settings.js';
import { clearSpeed } from './speed.js';
import { closeBox, current, showView, toggleView } from './state.js';

/** Characters of a prompt in a link. */
const LONGEST_PROMPT = 4000;
const query = new URLSearchParams(location.search);

/** The model that the page's address names or that of the last visit, with its chat; else the built-in one. */
async function loadFirst() {
  const { model, settings, chat, opening } = recall();
  const { model: asked, mmproj, backend, context, prompt } = Object.fromEntries(query);
  const wanted = { 'backend-choice': backend, context };
  applySettings({
    ...settings,
    ...Object.fromEntries(Object.entries(wanted).filter(([, text]) => text !== undefined)),
  });
  // A link is opened for what it says, not for a form that an earlier question had.
  applyJson(asked || prompt ? { ...settings, json: 'false' } : settings);
  const last = model ? originFrom(model) : BUILT_IN;
  const origin = asked ? originOf(asked, mmproj) : last;
  // At this one the last visit ended.
  if (opening) remember({ opening: undefined });
  const stored = chat && chat !== opening && recallChat(chat);
  if (stored && origin && isSame(originFrom(stored.model), origin)) conversation.openChat(chat);
  const instead = last.source ? last : BUILT_IN;
  if (prompt) preparePrompt(prompt);
  const size = sizeOf(CATALOGUE.find(({ source, mmproj }) => source === origin?.source && mmproj === origin?.mmproj));
  if (asked && origin && (await isNews(origin, last))) loading.offerModel(origin, { instead, size });
  else if (asked) loading.loadUrl(asked, mmproj);
  else if (!origin.source) loading.showMissingFile(origin.label);
  else loading.load(origin);
}

/** Puts what a link asks into the field of a new chat. A person sends it, not the link. */
function preparePrompt(text) {
  conversation.newChat();
  $('prompt').value = text.slice(0, LONGEST_PROMPT);
}

/** Copies an address that opens this page with the model that is loaded, and what stands in the field. */
function copyLink() {
  const prompt = $('prompt').value.trim().slice(0, LONGEST_PROMPT);
  const asked = Object.entries({ ...(current.origin && linkOf(current.origin)), prompt }).filter(([, value]) => value);
  const link = new URL(location.pathname, location.href);
  link.search = new URLSearchParams(asked);
  void copy($('copy-link'), link.href);
}

/**
 * Whether another site would be asked for something that nobody chose here before: a file that is not stored as a
 * whole, the model's or its encoder's.
 */
async function isNews(origin, last) {
  const files = hasSameFiles(origin, last) ? [] : foreignFiles(origin);
  const isStored = async ({ source }) => source !== true && (await cache.has(source).catch(() => false));
  return (await Promise.all(files.map(isStored))).includes(false);
}

/** Begins with `loadFirst`; whatever fails of what was stored or linked, the page starts. */
async function begin() {
  try {
    await loadFirst();
  } catch (error) {
    console.error(error);
    conversation.newChat();
    loading.load(BUILT_IN);
  }
}

/** A model is there. The one before it may have been another, which knows nothing of this conversation. */
function onModel() {
  const { model, origin, options } = current;
  if (!conversation.suitsModel()) conversation.newChat();
  attachments.hideNote();
  remember({ model: whereFrom(origin) });
  showModel(model, { origin, asked: options.backend, send: conversation.send });
  checkSchema();
  clearSpeed();
  offerReload();
  // Now that the page is of use, it has time to store itself.
  workOffline();
}

const idsOfAttachments = ({ attachments: shown = [] }) => shown.map(({ id }) => id);

/** Context length and backend are fixed when a model is loaded. */
function offerReload() {
  const { backend, contextLength } = loadOptions();
  const same = current.options?.backend === backend && current.options.contextLength === contextLength;
  $('reload').hidden = !current.model || same;
}

function clearAll() {
  conversation.dropChat();
  $('options').reset();
  applyJson({ json: 'false' });
  forget();
  void forgetOffline();
  void forgetAttachments();
  showChats();
  $('undo').hidden = true;
  announce('Conversations and settings are cleared');
  flash($('forget'), 'Cleared');
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

const keepSettings = () => remember({ settings: { ...currentSettings(), ...currentJson() } });

function wireSettings() {
  $('options').addEventListener('submit', (event) => event.preventDefault());
  $('options').addEventListener('change', keepSettings);
  $('options').addEventListener('reset', () => remember({ settings: currentJson() }));
  for (const event of ['input', 'reset']) $('options').addEventListener(event, () => setTimeout(offerReload));
  $('reload').addEventListener('click', () => loading.load(current.origin));
  $('copy-link').addEventListener('click', copyLink);
  $('loading-pause').addEventListener('click', loading.togglePause);
  $('loading-cancel').addEventListener('click', loading.cancelLoading);
  confirmed($('forget'), 'Clear everything?', clearAll);
}

/** Escape ends what goes on, closes the box, or goes back to the conversation; a dialog takes it first. */
function onKey(event) {
  if (event.key !== 'Escape' || event.isComposing || document.querySelector('dialog[open]')) return;
  if (closeCamera() || closeMicrophone()) return;
  if (current.loading) loading.cancelLoading();
  else if (current.running) current.running.stop();
  else if (current.model && !$('error').hidden) closeBox();
  else showView('chat');
}

/** Files that were dropped: a model is loaded; else they are attachments, where some are, or the model takes some. */
function takeFiles(files) {
  const models = files.filter(({ name }) => /\.gguf$/i.test(name));
  if (models.length > 0) loading.loadFiles(models);
  else if (attachments.takes('picture') || files.some(attachments.looksLikeAttachment)) attachments.attach(files);
  else loading.loadFiles(files);
}

function wireDrop() {
  let depth = 0;
  const hint = (change) => {
    depth = change === 0 ? 0 : Math.max(0, depth + change);
    $('drop-hint').hidden = depth === 0;
  };
  const carriesFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files');
  addEventListener('dragenter', (event) => {
    if (carriesFiles(event)) hint(1);
  });
  addEventListener('dragleave', (event) => {
    if (carriesFiles(event)) hint(-1);
  });
  addEventListener('dragover', (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  addEventListener('drop', (event) => {
    hint(0);
    if (!carriesFiles(event)) return;
    event.preventDefault();
    takeFiles([...event.dataTransfer.files]);
  });
}

loading.hooks.taken = onModel;
loading.hooks.newChat = conversation.newChat;
conversation.hooks.stored = (taken) => {
  showFull(!taken);
  showChats();
};
makeSliders();
wireJson(keepSettings);
conversation.wireConversation();
attachments.hooks.models = openModels;
attachments.wireAttachments();
wireChats();
wireModels();
wireSettings();
wireDrop();
addEventListener('keydown', onKey);
$('toggle-chats').addEventListener('click', () => toggleView('chats'));
$('toggle-panel').addEventListener('click', () => toggleView('panel'));
// Where the page stands is said here, not by the browser: a reload may have a question to show.
history.scrollRestoration = 'manual';
showBuiltInUse(conversation.send);
showNoModel('none');
clearSpeed();
showChats();
void dropUnused(new Set(recallChats().flatMap(({ turns }) => turns.flatMap(idsOfAttachments))));
if (!('tooOld' in document.documentElement.dataset)) void begin(); // start.js has said why
