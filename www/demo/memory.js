// What the demo remembers between visits, in the browser's localStorage: settings, where the model came from, and each
// conversation under a key of its own, so that two tabs do not overwrite each other's. A browser that stores nothing
// for this page is no error: the page then begins afresh each time.

const KEY = 'webgguf.demo';
const CHAT = `${KEY}.chat.`;
/** Characters of a conversation that are kept; older turns go first. Browsers give a site about 5 million. */
const MAX_CHARACTERS = 200_000;

const isText = (value) => typeof value === 'string';
const isTurn = (turn) => isText(turn?.user) && isText(turn.answer) && isText(turn.meta);
const isAttachment = ({ id, kind, name, width, height, seconds }) =>
  isText(id) && isText(name) && (kind === 'sound' ? seconds > 0 : kind === 'picture' && width > 0 && height > 0);
const withAttachments = ({ attachments, ...turn }) =>
  Array.isArray(attachments) ? { ...turn, attachments: attachments.filter((each) => isAttachment(each ?? {})) } : turn;
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
 *   chat?: string}} `chat` is the id of the conversation that was open
 */
export function recall() {
  const { model, settings, chat } = read(KEY);
  const texts = Object.entries(settings ?? {}).filter(([, value]) => isText(value));
  return {
    model: isOrigin(model) ? model : undefined,
    settings: Object.fromEntries(texts),
    chat: isText(chat) ? chat : undefined,
  };
}

/** Stores some of `model`, `settings` and `chat` (see `recall`); the rest stays as it is. */
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
  return { id, title, model, updated, turns: turns.filter(isTurn).map(withAttachments) };
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

/** Calls `listener` when another tab has stored something. */
export function onForeignChange(listener) {
  addEventListener('storage', ({ key }) => {
    if (key === null || key.startsWith(CHAT)) listener();
  });
}

/** The last turns that fit. */
function latest(turns) {
  let left = MAX_CHARACTERS;
  const first = turns.findLastIndex(({ user, answer, meta, thoughts = '' }) => {
    left -= user.length + answer.length + meta.length + thoughts.length;
    return left < 0;
  });
  return turns.slice(first + 1);
}
