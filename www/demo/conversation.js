// The conversation that is open: its turns, and letting the model answer.

import { $, announce, copy, newId } from './dom.js';
import { Turn } from './chat.js';
import {
  hasAttachments,
  hideNote,
  returnAttachments,
  suitsAttachments,
  takeAttachments,
  takes,
} from './attachments.js';
import { keepAttachments, recallAttachments } from './attachment-store.js';
import { jsonOptions, refuseSchema } from './json.js';
import { showError } from './load.js';
import { together } from './markdown-limits.js';
import { forgetChat, isChatStored, onForeignRemoval, recallChat, remember, rememberChat } from './memory.js';
import { kindOf, showKept } from './model-card.js';
import { isSame, originFrom, whereFrom } from './origins.js';
import { isPutAway, untilShown } from './phone.js';
import { describe, showBlob } from './pictures.js';
import { generateOptions, sessionOptions } from './settings.js';
import { SpeedChart } from './speed.js';
import { canWrite, current, hideBox, setState, settle, showView } from './state.js';
import { encodingWords, rate, resultWords, titleOf } from './words.js';

const root = document.documentElement;
/** Milliseconds after which an answer that is being written is stored again. */
const KEEP_EVERY = 2000;

/** Set by demo.js: `stored(taken)` when the conversation was stored, and whether the browser took it. */
export const hooks = { stored: () => {} };

/**
 * `id`, title and `model` (see `whereFrom`) come with the first message. `isStored`: it was stored; `isDeleted`: it is
 * not to be stored again.
 * @type {{id?: string, title: string, model?: object, turns: Turn[], isStored?: boolean, isDeleted?: boolean}}
 */
let chat = { title: '', turns: [] };
/** The conversation whose answer is being written, which another one may have taken the place of. */
let writing;
/** What the model has read of it: a session, the turns that are in it, and the options it was made with. */
let reading;
/** While the attachments of a message are got ready: it is sent once. */
let preparing = false;

export const openChatId = () => chat.id;

// ---- opening --------------------------------------------------------------------------------------------------------

export function newChat() {
  open({ title: '', turns: [] });
}

/**
 * Opens a stored conversation; returns where its model came from, nothing where the conversation is not there or cannot
 * be shown. Should the page not survive it, the next visit begins without it.
 */
export function openChat(id) {
  const stored = recallChat(id);
  if (!stored) return undefined;
  remember({ opening: id });
  try {
    open({ ...stored, isStored: true, turns: together(() => stored.turns.map(turnOf)) });
    return originFrom(stored.model);
  } catch (error) {
    console.error(error);
    newChat();
    return undefined;
  } finally {
    remember({ opening: undefined });
  }
}

/** A stored turn; one that cannot be shown as it was is shown as text. */
function turnOf(data) {
  try {
    return new Turn(data);
  } catch (error) {
    console.error(error);
    const { user, answer, meta } = data;
    return new Turn({ user, answer, meta, plain: true });
  }
}

/** A model of another origin is there: it does not go on with a conversation that it knows nothing of. */
export function suitsModel() {
  return !chat.model || isSame(originFrom(chat.model), current.origin);
}

function open(next) {
  current.running?.stop();
  for (const turn of chat.turns) turn.release();
  chat = next;
  void endSession();
  $('log').replaceChildren(...chat.turns.map((turn) => turn.root));
  if (chat.turns.some(({ attachments }) => attachments.length > 0)) chat.recalled = recall(chat);
  remember({ chat: chat.id });
  hooks.stored(true);
  hideBox();
  showView('chat');
  if (current.model && !current.running) settle();
  $('welcome').hidden = chat.turns.length > 0;
  root.scrollTop = root.scrollHeight;
}

/** Gets the attachments of a stored conversation, unless it was left meanwhile. */
async function recall(which) {
  const turns = [...which.turns];
  const all = await recallAttachments(turns.flatMap(({ attachments }) => attachments));
  if (which !== chat) return;
  for (const turn of turns) {
    if (turn.attachments.length > 0) drawAtEnd(() => turn.show(all.splice(0, turn.attachments.length)));
  }
}

/** Another title for the conversation that is open. */
export function retitle(title) {
  chat.title = title;
}

/** Stores a conversation, unless it was deleted meanwhile: here, or in another tab. */
function store(which) {
  which.isDeleted ||= which.isStored && !isChatStored(which.id);
  if (!which.id || which.isDeleted) return;
  const taken = rememberChat({ ...which, updated: Date.now() });
  which.isStored ||= taken;
  hooks.stored(taken && which.keepsAttachments !== false);
}

/** Stores what there is of the answer that is being written, where it is in this conversation. */
export function keepNow(id) {
  if (writing?.id === id) store(writing);
}

/** The conversation with this id is deleted, all where there is none: it is closed, and not stored again. */
export function dropChat(id) {
  const dropped = [chat, writing].filter((each) => each && (id === undefined || each.id === id));
  for (const each of dropped) each.isDeleted = true;
  if (dropped.includes(chat)) newChat();
}

/** Another tab has deleted the conversation, or all. What this tab stored of it at the same moment goes, too. */
function dropForeign(id) {
  const wasOpen = chat.turns.length > 0 && (id === undefined || chat.id === id);
  if (writing?.id && (id === undefined || writing.id === id)) forgetChat(writing.id);
  dropChat(id);
  if (wasOpen) announce('This conversation was deleted in another tab');
}

// ---- asking ---------------------------------------------------------------------------------------------------------

export async function send(text) {
  const asked = jsonOptions();
  if (!asked || !canWrite() || preparing || (text.trim() === '' && !hasAttachments())) return;
  if (!suitsAttachments()) return;
  const opened = chat;
  const attachments = hasAttachments() || chat.recalled ? await prepared(takeAttachments) : [];
  // The conversation was left meanwhile, or what was given is neither a picture nor a sound.
  const isEmpty = text.trim() === '' && attachments.length === 0;
  if (chat !== opened || !canWrite() || isEmpty) return returnAttachments(attachments);
  if (attachments.length > 0) hideNote();
  const turn = new Turn({ user: text, attachments });
  if (!chat.id) Object.assign(chat, { id: newId(), title: titleOf(text || attachments[0].name) });
  remember({ chat: chat.id });
  chat.turns.push(turn);
  $('log').append(turn.root);
  $('prompt').value = '';
  keepAttachments(attachments).then((kept) => {
    opened.keepsAttachments = kept;
    if (!kept) hooks.stored(false);
  });
  await write(turn, asked, () => {
    turn.release();
    turn.root.remove();
    opened.turns = opened.turns.filter((other) => other !== turn);
    $('prompt').value ||= text;
    returnAttachments(attachments);
  });
}

/** What `take` gives, once the attachments of the conversation are here, too. */
async function prepared(take) {
  preparing = true;
  try {
    await chat.recalled;
    return await take();
  } finally {
    preparing = false;
  }
}

/** Writes the last answer anew. */
async function regenerate(turn) {
  const asked = jsonOptions();
  if (!asked || !canWrite() || preparing) return;
  if (chat.recalled) await prepared(() => {});
  if (!canWrite() || !chat.turns.includes(turn)) return;
  const before = turn.toJSON();
  await write(turn, asked, () => turn.restore(before));
}

/** Lets the model answer a turn; `undo` is called where it fails before it has written anything. */
async function write(turn, asked, undo) {
  const opened = chat;
  writing = opened;
  hideBox();
  turn.json = Boolean(asked.grammar);
  const kind = kindOf(current.model, current.origin);
  turn.plain = kind === 'text' && !turn.json;
  chat.model = whereFrom(current.origin);
  // Under a schema nothing is thought.
  const marks = kind === 'chat' && !turn.json ? current.marks : undefined;
  turn.begin({ around: drawAtEnd, marks, isOpen: marks?.isOpen[sessionOptions().enableThinking] });
  setState('generating');
  follow(true);
  try {
    const onProgress = (progress) => {
      turn.meta = encodingWords(progress, turn.attachments);
    };
    const options = { ...generateOptions(), ...asked, onProgress };
    current.running = ask(turn, { ...options, ...(marks && { showSpecial: marks.special }) });
    store(opened);
    const result = await stream(current.running, turn, () => store(opened));
    current.running = undefined;
    noteRead(turn, result);
    drawAtEnd(() => {
      turn.finish(result.text);
      const missed = kind === 'chat' ? missedBefore(turn) : [];
      turn.meta = resultWords(result, { json: turn.json, forgotten: forgottenTurns(), missed });
    });
    announce(result.finishReason === 'abort' ? 'Stopped' : 'The answer is complete');
    settle();
  } catch (error) {
    current.running = undefined;
    turn.finish(turn.written);
    if (turn.written === '') {
      turn.meta = '';
      undo();
    }
    void endSession();
    if (asked.grammar && refuseSchema(error)) settle();
    else showError(error);
  }
  writing = undefined;
  if (opened.turns.length > 0) store(opened);
  else discard(opened);
}

/** A conversation whose first message was refused is none. */
function discard(which) {
  forgetChat(which.id);
  for (const name of ['id', 'model', 'isStored']) delete which[name];
  which.title = '';
  if (which === chat) remember({ chat: undefined });
  hooks.stored(true);
}

/** Begins the answer: in a session where the model chats, else with a prompt that stands for itself. */
function ask(turn, options) {
  const { model, origin } = current;
  const kind = kindOf(model, origin);
  if (kind === 'text') return model.generate(turn.user, options);
  const { system, enableThinking } = sessionOptions();
  // Every story stands for itself.
  const instructions = system ? [{ role: 'system', content: system }] : [];
  if (kind === 'story') return model.generate([...instructions, { role: 'user', content: turn.user }], options);
  const content = contentOf(turn);
  const message = typeof content === 'string' ? content : { role: 'user', content };
  return sessionBefore(turn, { system, enableThinking }).send(message, options);
}

/** Whether the model gets an attachment: it can take it, and the browser still has it. */
const isGiven = ({ kind, file }) => Boolean(file) && takes(kind);

/** A message for the model: what it can see and hear, and then the text. */
function contentOf({ user, attachments }) {
  const given = attachments.filter(isGiven);
  if (given.length === 0) return user;
  const text = user.trim() === '' ? [] : [{ type: 'text', text: user }];
  const part = ({ kind, file }) => (kind === 'sound' ? { type: 'audio', audio: file } : { type: 'image', image: file });
  return [...given.map(part), ...text];
}

/** Attachments of the conversation up to `last` that the model did not get. */
function missedBefore(last) {
  const turns = chat.turns.slice(0, chat.turns.indexOf(last) + 1);
  return turns.flatMap(({ attachments }) => attachments).filter((attachment) => !isGiven(attachment));
}

// ---- the session ----------------------------------------------------------------------------------------------------

/** What the model takes: a session is made for that. */
const senses = () => `${takes('picture')} ${takes('sound')}`;

/** A session that has read all turns before `turn`: the one there is, or a new one. */
function sessionBefore(turn, options) {
  const before = chat.turns.slice(0, chat.turns.indexOf(turn)).filter(({ answer }) => answer);
  const same =
    reading?.model === current.model &&
    reading.senses === senses() &&
    JSON.stringify(reading.options) === JSON.stringify(options) &&
    reading.turns.length === before.length &&
    reading.turns.every((read, index) => read === before[index]);
  if (same) return reading.session;
  const messages = before.flatMap((read) => [
    { role: 'user', content: contentOf(read) },
    { role: 'assistant', content: read.answer },
  ]);
  const session = current.model.session({ ...options, messages, overflow: 'truncate' });
  void endSession();
  reading = { model: current.model, senses: senses(), options, session, turns: before };
  return session;
}

/** The session keeps an answer, and a message that was stopped before its answer began is none. */
function noteRead(turn, { text, finishReason }) {
  if (!reading || !chat.turns.includes(turn)) return;
  if (text !== '' || finishReason !== 'abort') reading.turns.push(turn);
}

/** How many turns the model no longer reads, because they do not fit its context. */
function forgottenTurns() {
  if (!reading) return 0;
  const kept = reading.session.messages.filter(({ role }) => role === 'user').length;
  return Math.max(0, reading.turns.length - kept);
}

async function endSession() {
  const session = reading?.session;
  reading = undefined;
  await session?.free().catch(() => {}); // the model may be gone, and the session with it
}

// ---- writing --------------------------------------------------------------------------------------------------------

/** Writes the text as it comes; `keep` is called now and then. */
async function stream(generation, turn, keep) {
  const chart = new SpeedChart();
  let kept = performance.now();
  for await (const piece of generation) {
    turn.write(piece.text, piece.ids.length);
    const { count, tokensPerSecond } = chart.add(piece.ids.length);
    if (tokensPerSecond) turn.meta = `${count} tokens · ${rate(tokensPerSecond)} tokens/s`;
    if (!isPutAway() && performance.now() - kept < KEEP_EVERY) continue;
    keep();
    await untilShown(); // no more is written than is read
    kept = performance.now();
  }
  const result = await generation.result;
  chart.end(result.timings);
  void showKept(current.model);
  return result;
}

const isAtEnd = () => root.scrollHeight - root.scrollTop - root.clientHeight < 80;

/** Keeps the end in sight, unless somebody scrolled up to read. */
function follow(atEnd) {
  if (atEnd) root.scrollTop = root.scrollHeight;
}

function drawAtEnd(draw) {
  const atEnd = isAtEnd();
  draw();
  follow(atEnd);
}

/** Shows all of a picture. */
function view(picture) {
  showBlob($('viewer-image'), picture.file);
  $('viewer-image').alt = picture.name;
  $('viewer-name').textContent = describe(picture);
  $('viewer').showModal();
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

export function wireConversation() {
  $('log').addEventListener('click', ({ target }) => {
    const pressed = target.closest('button');
    const turn = pressed && chat.turns.find(({ root: box }) => box.contains(pressed));
    if (!turn) return;
    if (pressed.matches('.copy')) copy(pressed, turn.copied);
    if (pressed.matches('.copy-code')) copy(pressed, pressed.closest('.code').querySelector('code').textContent);
    if (pressed.matches('.again')) regenerate(turn);
    if (pressed.matches('.picture')) view(turn.attachments.find(({ id }) => id === pressed.dataset.id));
  });
  $('composer').addEventListener('submit', (event) => {
    event.preventDefault();
    send($('prompt').value);
  });
  $('prompt').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send($('prompt').value);
  });
  $('viewer').addEventListener('click', ({ target }) => {
    if (target === $('viewer')) $('viewer').close(); // a click beside the picture is one on the dialog itself
  });
  $('stop').addEventListener('click', () => current.running?.stop());
  // An answer that is being written is kept as far as it came.
  addEventListener('pagehide', () => {
    if (writing) store(writing);
  });
  onForeignRemoval(dropForeign);
}
