// Reads TypeScript declarations and Rust items as far as the tests of the border between both need them.

/** The text without comments; strings of declarations hold no comment signs. */
const withoutComments = (text) => text.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '');

/** The text between the bracket at `start` and the one that closes it. */
function enclosed(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if ('{(['.includes(text[at])) depth += 1;
    if ('})]'.includes(text[at])) depth -= 1;
    if (depth === 0) return text.slice(start + 1, at);
  }
  throw new Error(`no end of ${text.slice(start, start + 40)}`);
}

/** The parts of `text` between signs of this kind that are outside of all brackets. */
function split(text, sign) {
  const parts = [''];
  let depth = 0;
  for (const [at, char] of [...text].entries()) {
    if ('{([<'.includes(char)) depth += 1;
    // The arrows of function types, `=>` and `->`, close nothing.
    if ('})]'.includes(char) || (char === '>' && !'=-'.includes(text[at - 1]))) depth -= 1;
    if (depth === 0 && char === sign) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** Members by name: `{ count }` arguments of a method, `{ type, isOptional }` of a field, and whether it is static. */
function membersOf(body) {
  const members = new Map();
  for (const member of split(body, ';')) {
    const found = /^(?:private )?(static )?(?:readonly )?(\w+)(\??)(\(|:)/.exec(member);
    if (!found || member.startsWith('private ')) continue;
    const [all, isStatic, name, optional, sign] = found;
    const count = sign === '(' ? split(enclosed(member, all.length - 1), ',').length : undefined;
    const key = isStatic ? `static ${name}` : name;
    members.set(key, { count, isOptional: optional === '?', type: member.slice(all.length).trim() });
  }
  return members;
}

/** What a file of declarations exports: members of classes, and the number of arguments of functions. */
export function exportsOf(source) {
  const text = withoutComments(source);
  const classes = new Map();
  for (const { 0: all, 1: name, index } of text.matchAll(/^export class (\w+)[^{]*\{/gm)) {
    classes.set(name, membersOf(enclosed(text, index + all.length - 1)));
  }
  const functions = new Map();
  for (const { 0: all, 1: name, index } of text.matchAll(/^export (?:default )?function (\w+)\(/gm)) {
    functions.set(name, split(enclosed(text, index + all.length - 1), ',').length);
  }
  return { classes, functions };
}

/** The members of an interface, or of an object type in a field of it: `Inspected.gpu`. */
export function interfaceOf(source, path) {
  const [name, ...fields] = path.split('.');
  const text = withoutComments(source);
  const found = new RegExp(`^export interface ${name}\\b[^{]*\\{`, 'm').exec(text);
  if (!found) throw new Error(`no interface ${name}`);
  let members = membersOf(enclosed(text, found.index + found[0].length - 1));
  for (const field of fields) {
    const { type } = members.get(field);
    members = membersOf(enclosed(type, type.indexOf('{')));
  }
  return members;
}

const camelCase = (name) => name.replace(/^r#/, '').replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** What `pattern` begins in Rust: the text in the braces that follow. */
function rustBody(source, pattern) {
  const text = source.replaceAll(/\/\/.*$/gm, '');
  const found = new RegExp(pattern, 'm').exec(text);
  if (!found) throw new Error(`no ${pattern}`);
  return enclosed(text, text.indexOf('{', found.index));
}

/** The fields of a struct, by the names that serde gives them. */
export function structFields(source, name) {
  const body = rustBody(source, `struct ${name}\\b`).replaceAll(/#\[[^\]]*\]/g, '');
  return split(body, ',').map((field) => camelCase(/(?:pub(?:\([^)]*\))? )?((?:r#)?\w+):/.exec(field)[1]));
}

/** The names that a function gives to `set("…", …)` or to `Reflect::set(&made, &"…", …)`. */
export function namesSet(source, name) {
  const body = rustBody(source, `fn ${name}\\b`);
  return [...body.matchAll(/\bset\((?:&\w+, &)?"(\w+)"/g)].map(([, found]) => found);
}

/** What Rust calls of a type of JavaScript: methods with their numbers of arguments, and getters. */
export function importedMembers(source, type) {
  const body = rustBody(source, 'extern "C"');
  const members = new Map();
  for (const item of split(body, ';')) {
    const found = new RegExp(`fn (\\w+)\\(this: &${type}\\b`).exec(item);
    if (!found) continue;
    const name = /js_name = (\w+)/.exec(item)?.[1] ?? camelCase(found[1]);
    const isGetter = /\bgetter\b/.test(item);
    const args = split(enclosed(item, item.indexOf('(', found.index)), ',').length - 1;
    if (!isGetter || !members.has(name)) members.set(name, isGetter ? undefined : args);
  }
  return members;
}
