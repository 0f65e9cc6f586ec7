// The conversation that is open: its turns, and letting the model answer.

import { $, announce, copy } from './dom.js';
import { Turn } from './chat.js';
import { canSee, hasPictures, hideNote, returnPictures, sayBlind, takePictures } from './composer-pictures.js';
import { jsonOptions, refuseSchema } from './json.js';
import { showError } from './load.js';
import { forgetChat, recallChat, remember, rememberChat } from './memory.js';
import { kindOf } from './model-card.js';
import { isSame, originFrom, whereFrom } from './origins.js';
import { keepPictures, recallPictures } from './picture-store.js';
import { describe, showBlob } from './pictures.js';
import { generateOptions, sessionOptions } from './settings.js';
import { SpeedChart } from './speed.js';
import { canWrite, current, hideBox, setState, settle, showView } from './state.js';
import { lookingWords, rate, resultWords, titleOf } from './words.js';

const root = document.documentElement;
/** Milliseconds after which an answer that is being written is stored again. */
const KEEP_EVERY = 2000;

/** Set by demo.js: `stored(taken)` when the conversation was stored, and whether the browser took it. */
export const hooks = { stored: () => {} };

/**
 * `id`, title and `model` (see `whereFrom`) come with the first message.
 * @type {{id?: string, title: string, model?: object, turns: Turn[]}}
 */
let chat = { title: '', turns: [] };
/** What the model has read of it: a session, the turns that are in it, and the options it was made with. */
let reading;
/** While the pictures of a message are got ready: it is sent once. */
let preparing = false;

export const openChatId = () => chat.id;

// ---- opening --------------------------------------------------------------------------------------------------------

export function newChat() {
  open({ title: '', turns: [] });
}

/** Opens a stored conversation; returns where its model came from, nothing where the conversation is not there. */
export function openChat(id) {
  const stored = recallChat(id);
  if (!stored) return undefined;
  open({ ...stored, turns: stored.turns.map((data) => new Turn(data)) });
  return originFrom(stored.model);
}

/** A model of another origin is there: it does not go on with a conversation that it knows nothing of. */
export function suitsModel() {
  return !chat.model || isSame(originFrom(chat.model), current.origin);
}

function open(next) {
  current.running?.stop();
  chat = next;
  void endSession();
  $('log').replaceChildren(...chat.turns.map((turn) => turn.root));
  if (chat.turns.some(({ pictures }) => pictures.length > 0)) chat.recalled = recall(chat.turns);
  remember({ chat: chat.id });
  hooks.stored(true);
  hideBox();
  showView('chat');
  if (current.model && !current.running) settle();
  $('welcome').hidden = chat.turns.length > 0;
  root.scrollTop = root.scrollHeight;
}

/** Gets the pictures of a stored conversation. */
async function recall(turns) {
  const all = await recallPictures(turns.flatMap(({ pictures }) => pictures));
  for (const turn of turns) {
    if (turn.pictures.length > 0) drawAtEnd(() => turn.show(all.splice(0, turn.pictures.length)));
  }
}

/** Another title for the conversation that is open. */
export function retitle(title) {
  chat.title = title;
}

/** Stores a conversation, unless it was deleted meanwhile. */
function store(which) {
  if (which.deleted) return;
  hooks.stored(rememberChat({ ...which, updated: Date.now() }) && which.keepsPictures !== false);
}

/** Closes the conversation with this id, if it is open: it is deleted. */
export function dropChat(id) {
  if (chat.id !== id) return;
  chat.deleted = true;
  newChat();
}

// ---- asking ---------------------------------------------------------------------------------------------------------

export async function send(text) {
  const asked = jsonOptions();
  if (!asked || !canWrite() || preparing || (text.trim() === '' && !hasPictures())) return;
  if (hasPictures() && !canSee()) return sayBlind();
  const opened = chat;
  const pictures = hasPictures() || chat.recalled ? await prepared(takePictures) : [];
  // The conversation was left meanwhile, or what was given is no picture.
  if (chat !== opened || !canWrite() || (text.trim() === '' && pictures.length === 0)) return returnPictures(pictures);
  if (pictures.length > 0) hideNote();
  const turn = new Turn({ user: text, pictures });
  if (!chat.id) Object.assign(chat, { id: newId(), title: titleOf(text || pictures[0].name) });
  remember({ chat: chat.id });
  chat.turns.push(turn);
  $('log').append(turn.root);
  $('prompt').value = '';
  keepPictures(pictures).then((kept) => {
    opened.keepsPictures = kept;
    if (!kept) hooks.stored(false);
  });
  await write(turn, asked, () => {
    turn.root.remove();
    opened.turns = opened.turns.filter((other) => other !== turn);
    $('prompt').value ||= text;
    returnPictures(pictures);
  });
}

/** What `take` gives, once the pictures of the conversation are here, too. */
async function prepared(take) {
  preparing = true;
  try {
    await chat.recalled;
    return await take();
  } finally {
    preparing = false;
  }
}

// `randomUUID` is there on https pages only.
const newId = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

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
      turn.meta = lookingWords(progress);
    };
    const options = { ...generateOptions(), ...asked, onProgress };
    current.running = ask(turn, { ...options, ...(marks && { showSpecial: marks.special }) });
    store(opened);
    const result = await stream(current.running, turn, () => store(opened));
    current.running = undefined;
    noteRead(turn, result);
    drawAtEnd(() => {
      turn.finish(result.text);
      const unseen = kind === 'chat' ? unseenPictures(turn) : 0;
      turn.meta = resultWords(result, { json: turn.json, forgotten: forgottenTurns(), unseen });
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
  if (opened.turns.length > 0) store(opened);
  else discard(opened);
}

/** A conversation whose first message was refused is none. */
function discard(which) {
  forgetChat(which.id);
  for (const name of ['id', 'model']) delete which[name];
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

/** A message for the model: what it can see, and then the text. */
function contentOf({ user, pictures }) {
  const images = canSee() ? pictures.filter(({ file }) => file) : [];
  if (images.length === 0) return user;
  const text = user.trim() === '' ? [] : [{ type: 'text', text: user }];
  return [...images.map(({ file }) => ({ type: 'image', image: file })), ...text];
}

/** Pictures of the conversation up to `last` that the model did not see: it cannot, or they are no longer here. */
function unseenPictures(last) {
  const turns = chat.turns.slice(0, chat.turns.indexOf(last) + 1);
  return turns.flatMap(({ pictures }) => pictures).filter(({ file }) => !canSee() || !file).length;
}

// ---- the session ----------------------------------------------------------------------------------------------------

/** A session that has read all turns before `turn`: the one there is, or a new one. */
function sessionBefore(turn, options) {
  const before = chat.turns.slice(0, chat.turns.indexOf(turn)).filter(({ answer }) => answer);
  const same =
    reading?.model === current.model &&
    reading.sees === canSee() &&
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
  reading = { model: current.model, sees: canSee(), options, session, turns: before };
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
    if (performance.now() - kept < KEEP_EVERY) continue;
    keep();
    kept = performance.now();
  }
  const result = await generation.result;
  chart.end(result.timings);
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
  const words = describe(picture);
  showBlob($('viewer-image'), picture.file);
  $('viewer-image').alt = picture.name;
  $('viewer-name').textContent = words;
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
    if (pressed.matches('.picture')) view(turn.pictures.find(({ id }) => id === pressed.dataset.id));
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
    if (current.running) store(chat);
  });
}
