// Finds the functions of a source: their lengths in lines, their arguments, and how deep their branches nest.

import { lex, linesOf } from './lexer.mjs';

const CLOSING = { '(': ')', '[': ']', '{': '}' };
const KEYWORDS = 'if|for|while|loop|match|switch|do|try|catch|finally|else|with|unsafe';
const BRANCH = new RegExp(`^(?:\\}?\\s*else\\b)?\\s*(?:[\\w$]+\\s*:\\s*)?(?:await\\s+)?(?:${KEYWORDS})\\b`);
/** Rust lets a branch be a value: `let x = match y {`. */
const BRANCH_VALUE = /(?:=|=>|return|\(|,|&|\.\.|break|\|)\s*(?:if|match|loop)\b[^;]*$|^\s*(?:if|match|loop)\b/;
const TYPE_BEFORE = /[:|&<,]\s*$|\b(extends|keyof|typeof|as|satisfies|implements)\s*$/;
const CONTAINER = /\b(class|interface|enum|namespace|struct|impl|trait|mod|union|macro_rules!|declare module)\b/;

/** Where a bracket that opens at `at` closes. */
function closingOf(code, at) {
  const stack = [];
  for (let i = at; i < code.length; i += 1) {
    const c = code[i];
    if (c in CLOSING) stack.push(CLOSING[c]);
    else if (c === stack.at(-1) && stack.pop() && stack.length === 0) return i;
  }
  return code.length - 1;
}

/** The number of arguments between brackets: commas outside of other brackets and of `<…>`, but for a last one. */
function argumentsIn(text) {
  let depth = 0;
  const parts = [''];
  for (const [i, c] of [...text].entries()) {
    if ('([{'.includes(c) || (c === '<' && /[\w:]/.test(text[i - 1] ?? ''))) depth += 1;
    else if (')]}'.includes(c) || (c === '>' && !'-='.includes(text[i - 1] ?? '') && depth > 0)) depth -= 1;
    if (c === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += c;
  }
  return parts.filter((part) => part.trim() && !/^\s*(?:&?(?:'\w+\s)?\s*(?:mut\s)?self\b|this\s*:)/.test(part)).length;
}

/** Functions of Rust and WGSL: `fn` stands before each. */
function declared(code) {
  const found = [];
  for (const { 1: name, index } of code.matchAll(/\bfn\s+(\w+)/g)) {
    let at = index + 3 + name.length;
    while (at < code.length && code[at] !== '(') at += code[at] === '<' ? lengthOfGenerics(code, at) : 1;
    const end = closingOf(code, at);
    const open = bodyOf(code, end + 1);
    if (code[open] !== '{') continue;
    found.push({ name, start: index, open, close: closingOf(code, open), count: argumentsIn(code.slice(at + 1, end)) });
  }
  return found;
}

/** Where the body of a function begins, or the `;` of one without a body, behind its arguments. */
function bodyOf(code, from) {
  let at = from;
  while (at < code.length && code[at] !== '{' && code[at] !== ';')
    at = '[('.includes(code[at]) ? closingOf(code, at) + 1 : at + 1;
  return at;
}

function lengthOfGenerics(code, at) {
  let depth = 0;
  for (let i = at; i < code.length; i += 1) {
    if (code[i] === '<') depth += 1;
    else if (code[i] === '>' && code[i - 1] !== '-') depth -= 1;
    if (depth === 0) return i - at + 1;
  }
  return code.length - at;
}

/** Functions of JavaScript and TypeScript, which a brace with a head such as `function f(a)`, `f(a)` or `=>` opens. */
function headed(code) {
  const found = [];
  const stack = [{ head: 0, kind: 'block' }];
  for (let i = 0; i < code.length; i += 1) {
    const c = code[i];
    const top = stack.at(-1);
    if (c === ';' || (c === ',' && top.kind !== 'block')) top.head = i + 1;
    else if (c === '(' || c === '[') stack.push({ head: i + 1, kind: 'list' });
    else if (c === ')' || c === ']') stack.pop();
    else if (c === '{') stack.push(open(code, i, top, found));
    else if (c === '}') close(stack, i);
    if (stack.length === 0) return found;
  }
  return found;
}

function open(code, i, top, found) {
  const head = code.slice(top.head, i);
  const fn = functionOf(head);
  if (fn && (fn.isArrow || top.kind !== 'list')) {
    const start = top.head + head.search(/\S/);
    const name = fn.name ?? /([\w$]+)\s*(?::[^=]*)?=\s*(?:async\s*)?[(\w]/.exec(head)?.[1] ?? '=>';
    const it = { name, start, open: i, close: i, count: argumentsIn(fn.arguments) };
    found.push(it);
    return { head: i + 1, kind: 'block', function: it };
  }
  const isObject = /[=(,:?&|[]\s*$|=>\s*\($|\breturn\s*$|^\s*$/.test(head) && top.kind !== 'block';
  const isType = TYPE_BEFORE.test(head);
  if (CONTAINER.test(head)) return { head: i + 1, kind: 'block' };
  return { head: i + 1, kind: isObject || isType || /[=?]\s*$/.test(head) ? 'object' : 'block', isType };
}

function close(stack, i) {
  const { function: fn, isType } = stack.pop();
  if (fn) fn.close = i;
  const top = stack.at(-1);
  if (top?.kind === 'block' && !isType) top.head = i + 1;
}

/** The name and the arguments of the function whose head stands before a brace; `undefined` where it is none. */
function functionOf(head) {
  const arrow = /(?:\(((?:[^()]|\([^()]*\))*)\)\s*(?::[^=]*)?|([\w$]+)\s*)=>\s*$/.exec(head);
  if (arrow) return { arguments: arrow[1] ?? arrow[2], isArrow: true };
  if (TYPE_BEFORE.test(head) || BRANCH.test(head.trimStart())) return undefined;
  const named = /(?:\bfunction\s*\*?\s*([\w$]*)|(?:^|[\s*.])([\w$#]+|\]))\s*(?:<[^()]*>)?\s*\(/.exec(head) ?? undefined;
  if (!named || /^\s*(?:return|new|throw|await|export default)\b/.test(head)) return undefined;
  const at = named.index + named[0].length - 1;
  const end = closingOf(head, at);
  const behind = head.slice(end + 1);
  if (!/^\s*(?::|$)/.test(behind) || /=(?!>)/.test(head.slice(0, named.index))) return undefined;
  return { name: named[1] || named[2], arguments: head.slice(at + 1, end), isArrow: false };
}

/** How deep branches of several lines nest in a function, functions inside of it left out. */
function nestingOf(code, { open: start, close: end }, inside) {
  const depths = [0];
  let most = 0;
  let head = start + 1;
  for (let i = start + 1; i < end; i += 1) {
    const inner = inside.find((fn) => fn.open === i);
    i = inner?.close ?? i;
    const c = code[i];
    if (inner) head = i + 1;
    else if (c === '{') depths.push(depths.at(-1) + (isBranch(code, head, i) ? 1 : 0));
    else if (c === '}') depths.pop();
    most = Math.max(most, depths.at(-1));
    const isInFor = c === ';' && /\bfor\s*\([^)]*$/.test(code.slice(head, i));
    if ('{};'.includes(c) && !isInFor) head = i + 1;
  }
  return most;
}

/** Whether a brace opens a branch or a loop of several lines. */
function isBranch(code, head, at) {
  const text = code.slice(head, at);
  const opens = BRANCH.test(text.trimStart()) || BRANCH_VALUE.test(text);
  return opens && code.slice(at, closingOf(code, at)).includes('\n');
}

/**
 * All functions of a source: `{ name, line, lines, args, nesting }`.
 *
 * @param {string} text
 * @param {'rs' | 'wgsl' | 'ts'} language
 */
export function functionsOf(text, language) {
  const { code } = lex(text, language);
  const found = language === 'ts' ? headed(code) : declared(code);
  const lineOf = linesOf(code);
  return found.map((fn) => {
    const inside = found.filter((other) => other.open > fn.open && other.close < fn.close);
    const line = lineOf(fn.start);
    const lines = lineOf(fn.close) - line + 1;
    return { name: fn.name, line, lines, args: fn.count, nesting: nestingOf(code, fn, inside) };
  });
}
