// Takes comments and strings out of Rust, WGSL, JavaScript and TypeScript, so that brackets can be counted.

const RAW = /r(#*)"/y;
const CHARACTER = /'(?:\\(?:u\{[^}]*\}|x..|.)|[^\\'\n])'/y;
/** What stands before a regular expression, rather than before a division. */
const BEFORE_PATTERN = /(^|[(,=:[!&|?{};+\-*%~^<>]|\b(return|typeof|case|in|of|do|else|void|await|yield))\s*$/;
const PATTERN = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;

const blank = (text) => text.replaceAll(/[^\n]/g, ' ');

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Where a string ends that begins at `at` with `quote`. */
function endOfString(text, at, quote) {
  let end = at + 1;
  while (end < text.length && text[end] !== quote) end += text[end] === '\\' ? 2 : 1;
  return Math.min(end + 1, text.length);
}

/** Where a comment ends that begins at `at`; Rust's nest. */
function endOfComment(text, at, nests) {
  if (text[at + 1] === '/') {
    const end = text.indexOf('\n', at);
    return end < 0 ? text.length : end;
  }
  let depth = 1;
  let end = at + 2;
  while (end < text.length && depth > 0) {
    const two = text.slice(end, end + 2);
    if (two === '*/') depth -= 1;
    else if (two === '/*' && nests) depth += 1;
    end += two === '*/' || (two === '/*' && nests) ? 2 : 1;
  }
  return end;
}

/** Where a template string ends, with all `${…}` in it. */
function endOfTemplate(text, at) {
  let end = at + 1;
  while (end < text.length && text[end] !== '`') {
    if (text[end] === '\\') end += 2;
    else if (text.startsWith('${', end)) end = endOfHole(text, end + 2);
    else end += 1;
  }
  return Math.min(end + 1, text.length);
}

function endOfHole(text, at) {
  let depth = 1;
  let end = at;
  while (end < text.length && depth > 0) {
    const c = text[end];
    if (c === '`') end = endOfTemplate(text, end);
    else if (c === "'" || c === '"') end = endOfString(text, end, c);
    else {
      depth += c === '{' ? 1 : c === '}' ? -1 : 0;
      end += 1;
    }
  }
  return end;
}

/** Where a string of Rust ends that begins at `at`, or `undefined`. */
function endInRust(text, at) {
  const raw = /\w/.test(text[at - 1] ?? '') ? undefined : matchAt(RAW, text, at);
  if (raw) {
    const close = text.indexOf(`"${raw.slice(1, -1)}`, at + raw.length);
    return close < 0 ? text.length : close + raw.length - 1;
  }
  if (text[at] === '"') return endOfString(text, at, '"');
  const character = text[at] === "'" ? matchAt(CHARACTER, text, at) : undefined;
  return character && at + character.length;
}

/** Where a string or a regular expression of JavaScript ends that begins at `at`, or `undefined`. */
function endInScript(text, at, before) {
  const c = text[at];
  if (c === '"' || c === "'") return endOfString(text, at, c);
  if (c === '`') return endOfTemplate(text, at);
  if (c !== '/' || !BEFORE_PATTERN.test(before.slice(-40))) return undefined;
  const pattern = matchAt(PATTERN, text, at);
  return pattern && at + pattern.length;
}

/**
 * The code of a text, in which comments and strings are blanks, and its comments as `{ at, text }`.
 *
 * @param {string} text
 * @param {'rs' | 'wgsl' | 'ts'} language
 */
export function lex(text, language) {
  const comments = [];
  let code = '';
  let at = 0;
  while (at < text.length) {
    const isComment = text[at] === '/' && (text[at + 1] === '/' || text[at + 1] === '*');
    let end = isComment ? endOfComment(text, at, language !== 'ts') : undefined;
    if (isComment) comments.push({ at, text: text.slice(at, end) });
    else if (language === 'rs') end = endInRust(text, at);
    else if (language === 'ts') end = endInScript(text, at, code);
    code += end === undefined ? text[at] : blank(text.slice(at, end));
    at = end ?? at + 1;
  }
  return { code, comments };
}

/** The language of a file for `lex`. */
export const languageOf = (file) => (/\.(ts|js|mjs)$/.test(file) ? 'ts' : file.endsWith('.wgsl') ? 'wgsl' : 'rs');

/** A function from places in a text to the numbers of their lines. */
export function linesOf(text) {
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index);
  return (at) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
}
