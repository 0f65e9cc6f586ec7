// Takes functions that few pages need out of a WebAssembly module, into a part that a page links when it needs them.
//
// The module calls each function of the part through a slot of its table, which is empty until the part is there. The
// part imports memory, tables, globals and functions of the module, and fills the slots when it is instantiated. Both
// are texts as `wasm-dis` writes them: names make of the split a matter of moving functions. Memory has a name with a
// hash of the module, so that a part fits no module but its own.

import { createHash } from 'node:crypto';

/** A name, as the text has it. */
const NAME = String.raw`\$(?:"(?:[^"\\]|\\.)*"|[^\s()]+)`;
const EXPORT = new RegExp(String.raw`\(export "([^"]*)" \((\w+ ${NAME})\)`);
const SLOT = /\(table (\S+) (\d+) (\d+) funcref\)/;

/**
 * Splits a module.
 *
 * @param text the module as text, with the names of its functions
 * @param isOfPart whether a function, by its name without `$` and quotes, belongs to the part. What only such functions
 *   call goes with them
 * @param lent names of exports for parts that are linked with this one: they keep no function in the module
 * @returns `rest`, the module without them, and `part`, which is instantiated with the exports of `rest` as `module`;
 *   `count` functions are in it, and it uses the exports `added` that the module had not before
 * @throws where no function belongs to the part, one of it does what a part cannot, or is called by another part that
 *   is linked without this one
 */
export function split(text, isOfPart, lent = []) {
  const forms = formsOf(text);
  const functions = new Map(forms.filter(({ kind }) => kind === 'func').map((form) => [form.name, form]));
  const roots = forms.filter((form) => !(form.kind === 'export' && lent.includes(EXPORT.exec(form.text)[1])));
  const moved = movedOf(roots, functions, (name) => isOfPart(plain(name)));
  if (moved.size === 0) throw new Error('wasm_split: no function belongs to the part');
  checkOthers(roots, moved);
  const called = [...functions.values()].filter(({ name }) => !moved.has(name)).flatMap(({ calls }) => [...calls]);
  const entries = [...new Set([...called, ...exported(forms), ...inTable(forms)])].filter((name) => moved.has(name));
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const own = [...moved].map((name) => functions.get(name));
  const links = linksOf(forms, own, hash);
  const known = new Set(exportsOf(forms).values());
  const added = [...links].filter(([, name]) => !known.has(name));
  const plan = { forms, moved, entries, links, added, table: tableOf(forms, entries.length) };
  const names = added.map(([, name]) => name);
  return { count: moved.size, rest: restOf(plan), part: partOf(plan), added: names };
}

/** The forms of a module's text: kind, name, text, and which functions a function calls. */
function formsOf(text) {
  const found = [];
  for (const line of text.split('\n')) {
    if (line.startsWith(' (')) found.push([line]);
    else if (found.length > 0 && line !== ')') found.at(-1).push(line);
  }
  return found.map((lines) => {
    const whole = lines.join('\n');
    const [, kind] = /^ \((\w+)/.exec(whole);
    const name = new RegExp(`${kind === 'import' ? '' : `^ \\(${kind} `}(${NAME})`).exec(lines[0])?.[1];
    const calls = kind === 'func' ? new Set(namesAfter('(?:return_call|call|ref\\.func)', whole)) : new Set();
    return { kind, name, text: whole, head: lines[0], calls };
  });
}

const namesAfter = (what, text) => [...text.matchAll(new RegExp(`\\(${what} (${NAME})`, 'g'))].map(([, name]) => name);
const plain = (name) => name.replace(/^\$"?|"$/g, '');
const exported = (forms) =>
  forms.filter(({ kind }) => kind === 'export').flatMap(({ text }) => namesAfter('func', text));
const inTable = (forms) =>
  forms.filter(({ kind }) => kind === 'elem').flatMap(({ text }) => text.match(new RegExp(NAME, 'g')).slice(1));

/** The functions that belong to the part, and those that nothing else calls. */
function movedOf(forms, functions, isOfPart) {
  const start = forms.filter(({ kind }) => kind === 'start').map(({ name }) => name);
  const left = [...exported(forms), ...inTable(forms), ...start];
  const kept = new Set();
  while (left.length > 0) {
    const name = left.pop();
    if (kept.has(name) || isOfPart(name)) continue;
    kept.add(name);
    left.push(...(functions.get(name)?.calls ?? [])); // imported ones call nothing
  }
  return new Set([...functions.keys()].filter((name) => !kept.has(name)));
}

/** A part that was split off before must not call this one, which may not be linked. */
function checkOthers(forms, moved) {
  for (const [form, name] of exportsOf(forms)) {
    const of = form.slice('func '.length);
    if (/^\d+$/.test(name) && moved.has(of)) throw new Error(`wasm_split: another part calls ${plain(of)} of the part`);
  }
}

/** What the functions of the part use of the module: forms of memory, tables, globals, functions; a short name each. */
function linksOf(forms, moved, hash) {
  const text = moved.map((form) => form.text).join('\n');
  const forbidden = /\((?:memory\.init|data\.drop|table\.init|elem\.drop|ref\.func)\b/.exec(text);
  if (forbidden) throw new Error(`wasm_split: a function of the part has ${forbidden[0]}), which needs its own module`);
  const own = new Set(moved.map(({ name }) => name));
  const called = new Set(moved.flatMap(({ calls }) => [...calls]).filter((name) => !own.has(name)));
  const used = new Set(namesAfter(String.raw`(?:global|table)\.\w+`, text));
  const isLinked = ({ kind, name, text: form }) =>
    kind === 'memory' || used.has(name) || called.has(name) || (kind === 'table' && form.includes(' funcref)'));
  const linked = forms.filter((form) => form.name !== undefined && form.kind !== 'elem' && isLinked(form));
  const known = exportsOf(forms);
  const names = new Set(known.values());
  let count = 0;
  const nextName = () => {
    while (names.has(String(count))) count++;
    return String(count++);
  };
  const nameOf = (form) => (form.kind === 'memory' ? `memory ${hash}` : (known.get(shown(form)) ?? nextName()));
  return new Map(linked.map((form) => [form, nameOf(form)]));
}

/** The names under which a module exports its forms: of a part that was split off before, too. */
const exportsOf = (forms) =>
  new Map(
    forms
      .filter(({ kind }) => kind === 'export')
      .map(({ text }) => EXPORT.exec(text))
      .map(([, name, form]) => [form, name]),
  );

/** Parameters and results of a function, and how many parameters. */
function typeOf({ kind, head }) {
  const text = kind === 'import' ? head.slice(head.indexOf('(func')) : head;
  const params = [...text.matchAll(/\(param ([^)]*)\)/g)].flatMap(([, types]) =>
    types.split(' ').filter((type) => !type.startsWith('$')),
  );
  const results = [...text.matchAll(/\(result ([^)]*)\)/g)].map(([, types]) => types).join(' ');
  const typed = [params.length > 0 ? `(param ${params.join(' ')})` : '', results ? `(result ${results})` : ''];
  return { text: typed.join(' '), count: params.length };
}

/** The table of functions: its name, how many slots it has, and its form with `more` of them. */
function tableOf(forms, more) {
  const { text } = forms.find((form) => SLOT.test(form.text));
  const [, name, slots] = SLOT.exec(text);
  const count = Number(slots) + more;
  return { name, slots: Number(slots), text: text.replace(SLOT, `(table $1 ${count} ${count} funcref)`) };
}

const module = (lines) => `(module\n${lines.join('\n')}\n)\n`;

/** The module without the functions of the part: in place of the entries stand calls through the table. */
function restOf({ forms, moved, entries, added, table }) {
  const stub = (form) => {
    const { text: type, count } = typeOf(form);
    const values = Array.from({ length: count }, (_, index) => `(local.get ${index})`).join(' ');
    const slot = `(i32.const ${table.slots + entries.indexOf(form.name)})`;
    return ` (func ${form.name} ${type}\n  (call_indirect ${table.name} ${type} ${values} ${slot}))`;
  };
  const kept = forms.flatMap((form) => {
    if (SLOT.test(form.text)) return [table.text];
    if (form.kind !== 'func' || !moved.has(form.name)) return [form.text];
    return entries.includes(form.name) ? [stub(form)] : [];
  });
  const shared = added.map(([form, name]) => ` (export "${name}" (${shown(form)}))`);
  return module([...kept, ...shared]);
}

/** A form as an export names it. */
const shown = ({ kind, name }) => `${kind === 'import' ? 'func' : kind} ${name}`;

/** The functions of the part, with imports for what they use. */
function partOf({ forms, moved, entries, links, table }) {
  const imported = {
    global: ({ head }) => head.trim().replace(/ \([\w.]+ [^()]*\)\)$/, ')'), // without its first value
    memory: ({ head }) => head.trim(),
    // Without its most slots: a part that is split off later adds some.
    table: ({ text }) => (SLOT.test(text) ? table.text.replace(/ \d+(?= funcref)/, '') : text).trim(),
  };
  const asFunction = (form) => `(func ${form.name} ${typeOf(form).text})`;
  const imports = [...links].map(
    ([form, name]) => ` (import "module" "${name}" ${(imported[form.kind] ?? asFunction)(form)})`,
  );
  const types = forms.filter(({ kind }) => kind === 'type').map(({ text }) => text);
  const filled = ` (elem (table ${table.name}) (i32.const ${table.slots}) func ${entries.join(' ')})`;
  const own = forms.filter(({ kind, name }) => kind === 'func' && moved.has(name)).map(({ text }) => text);
  return module([...types, ...imports, filled, ...own]);
}
