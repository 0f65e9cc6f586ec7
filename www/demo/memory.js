// What the demo remembers between visits, in the browser's localStorage: settings, where the model came from, and each
// conversation under a key of its own, so that two tabs do not overwrite each other's. A browser that stores nothing
// for this page is no error: the page then begins afresh each time. What is read back is not trusted: it may be of
// another version of the page, or damaged.

import { oneLine } from './one-line.js';

const KEY = 'webgguf.demo';
const CHAT = `${KEY}.chat.`;
/** Characters of a conversation that are kept; older turns go first. Browsers give a site about 5 million. */
const MAX_CHARACTERS = 200_000;
/** Turns of a conversation, and attachments of a message, that are kept. */
const MOST_TURNS = 500;
const MOST_ATTACHMENTS = 50;
const LONGEST_META = 400;

const isText = (value) => typeof value === 'string';
const isTurn = (turn) => isText(turn?.user) && isText(turn.answer) && isText(turn.meta);
const isAttachment = ({ id, kind, name, width, height, seconds }) =>
  isText(id) && isText(name) && (kind === 'sound' ? seconds > 0 : kind === 'picture' && width > 0 && height > 0);
/** Files are not among what is told of an attachment: attachment-store.js has them. */
const attachmentOf = ({ id, kind, name, width, height, seconds }) =>
  kind === 'sound' ? { id, kind, name: oneLine(name), seconds } : { id, kind, name: oneLine(name), width, height };
const textOf = (value) => (isText(value) ? value : '');

/** A turn with nothing but what a turn has. */
function turnOf({ user, answer, meta, plain, json, thoughts, thought, attachments }) {
  const turn = { user, answer, meta: meta.slice(0, LONGEST_META), plain: plain === true, json: json === true };
  Object.assign(turn, { thoughts: textOf(thoughts), thought: textOf(thought).slice(0, LONGEST_META) });
  if (!Array.isArray(attachments)) return turn;
  const given = attachments.filter((each) => isAttachment(each ?? {})).slice(0, MOST_ATTACHMENTS);
  return { ...turn, attachments: given.map(attachmentOf) };
}

const isOrigin = (from) => from?.builtIn === true || isText(from?.file) || (isText(from?.url) && isText(from.label));

/** What is stored under `key`; an empty object where that cannot be read. */
function read(key) {
  try {
    const value = JSON.parse(localStorage.getItem(key));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Whether the browser took it. */
function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false; // Storage is full or refused: this visit works all the same.
  }
}

function remove(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // Where storage is refused there is nothing to remove.
  }
}

function keys() {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(CHAT));
  } catch {
    return [];
  }
}

/**
 * What the last visit left.
 * @returns {{model?: {builtIn: true} | {url: string, label: string} | {file: string}, settings: Record<string, string>,
 *   chat?: string, opening?: string}} `chat` is the id of the conversation that was open; `opening` is that of one at
 *   which the last visit ended while it was being opened
 */
export function recall() {
  const { model, settings, chat, opening } = read(KEY);
  const texts = Object.entries(settings ?? {}).filter(([, value]) => isText(value));
  return {
    model: isOrigin(model) ? model : undefined,
    settings: Object.fromEntries(texts),
    chat: isText(chat) ? chat : undefined,
    opening: isText(opening) ? opening : undefined,
  };
}

/** Stores some of `model`, `settings`, `chat` and `opening` (see `recall`); the rest stays as it is. */
export function remember(part) {
  write(KEY, { ...read(KEY), ...part });
}

/**
 * A conversation, or nothing where it is not there or not one.
 * @returns {{id: string, title: string, model: object, updated: number,
 *   turns: {user: string, answer: string, meta: string, plain: boolean, json: boolean, attachments?: object[]}[]}
 *   | undefined} `attachments` without their files, which attachment-store.js has
 */
export function recallChat(id) {
  const { title, model, updated, turns } = read(CHAT + id);
  if (!isText(title) || !isOrigin(model) || !Number.isFinite(updated) || !Array.isArray(turns)) return undefined;
  return { id, title: oneLine(title) || 'Untitled', model, updated, turns: latest(turns.filter(isTurn).map(turnOf)) };
}

/** Whether a conversation is stored, as far as this tab can see. */
export function isChatStored(id) {
  try {
    return localStorage.getItem(CHAT + id) !== null;
  } catch {
    return true; // where storage is refused, no other tab has removed anything
  }
}

/** All conversations, the latest first. */
export function recallChats() {
  const chats = keys().map((key) => recallChat(key.slice(CHAT.length)));
  return chats.filter(Boolean).sort((a, b) => b.updated - a.updated);
}

/** Stores a conversation as `recallChat` gives it. Returns whether the browser took it. */
export function rememberChat({ id, title, model, updated, turns }) {
  return write(CHAT + id, { title, model, updated, turns: latest(turns.map((turn) => turn.toJSON?.() ?? turn)) });
}

export function forgetChat(id) {
  remove(CHAT + id);
}

/** Removes everything that was stored. */
export function forget() {
  for (const key of [KEY, ...keys()]) remove(key);
}

/** Calls `listener` when another tab has stored or removed a conversation. */
export function onForeignChange(listener) {
  addEventListener('storage', ({ key }) => {
    if (key === null || key.startsWith(CHAT)) listener();
  });
}

/** Calls `listener` with the id of each conversation that another tab removes; with nothing when it removes all. */
export function onForeignRemoval(listener) {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === null) listener(undefined);
    else if (key.startsWith(CHAT) && newValue === null) listener(key.slice(CHAT.length));
  });
}

/** The last turns that fit. */
function latest(turns) {
  let left = MAX_CHARACTERS;
  const first = turns.findLastIndex(({ user, answer, meta, thoughts = '' }) => {
    left -= user.length + answer.length + meta.length + thoughts.length;
    return left < 0;
  });
  return turns.slice(Math.max(first + 1, turns.length - MOST_TURNS));
}
