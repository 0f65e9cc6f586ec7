// What the demo remembers between visits, in the browser's localStorage: where the model came from, the settings and
// the chat. A browser that stores nothing for this page is no error: the page then begins afresh each time.

const KEY = 'webgguf.demo';
/** Characters of the chat that are kept; older turns go first. Browsers give a site about 5 million. */
const MAX_CHARACTERS = 200_000;

const isText = (value) => typeof value === 'string';
const isTurn = (turn) => isText(turn?.user) && isText(turn.answer) && isText(turn.meta);

/** What was stored, as far as it has the shape that `remember` gives it. */
function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

/**
 * What the last visit left.
 * @returns {{model?: {builtIn: true} | {url: string, label: string} | {file: string}, settings: Record<string, string>,
 *   turns: {user: string, answer: string, meta: string, plain: boolean}[]}}
 */
export function recall() {
  const { model, settings, turns } = read();
  const known = model?.builtIn === true || isText(model?.file) || (isText(model?.url) && isText(model.label));
  const texts = Object.entries(settings ?? {}).filter(([, value]) => isText(value));
  return {
    model: known ? model : undefined,
    settings: Object.fromEntries(texts),
    turns: Array.isArray(turns) ? turns.filter(isTurn) : [],
  };
}

/** Stores some of `model`, `settings` and `turns` (see `recall`); the rest stays as it is. */
export function remember(part) {
  const kept = { ...read(), ...part };
  if (part.turns) kept.turns = latest(part.turns);
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Storage is full or refused: this visit works all the same.
  }
}

/** Removes everything that was stored. */
export function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Where storage is refused there is nothing to remove.
  }
}

/** The last turns that fit. */
function latest(turns) {
  let left = MAX_CHARACTERS;
  const first = turns.findLastIndex(({ user, answer, meta }) => {
    left -= user.length + answer.length + meta.length;
    return left < 0;
  });
  return turns.slice(first + 1);
}
