// Which files of a Rust module name each other in `use`.

/** The path of a module that a file under src/ holds: `['runtime', 'gpu']` of src/runtime/gpu/mod.rs. */
function moduleOf(file) {
  const path = file
    .replace(/^src\//, '')
    .replace(/\.rs$/, '')
    .split('/');
  return path.at(-1) === 'mod' ? path.slice(0, -1) : path;
}

/** The parts of a list at its commas, those inside of braces left out. */
function partsOf(list) {
  const parts = [''];
  let depth = 0;
  for (const char of list) {
    depth += Number(char === '{') - Number(char === '}');
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts.filter(Boolean);
}

/** The paths of `a::{b, c::{d, e}}`. */
function pathsOf(use) {
  const [, before, list] = /^([^{]*)\{(.*)\}$/.exec(use) ?? [];
  if (list === undefined) return [use.split(/ as /)[0]];
  return partsOf(list).flatMap((part) => pathsOf(part).map((path) => before + path));
}

/** What a path means in a module: a path from the crate's root. */
function absolute(path, module) {
  const [first, ...rest] = path.split('::');
  if (first === 'crate') return rest;
  if (first === 'self') return [...module, ...rest];
  if (first !== 'super') return [...module, first, ...rest];
  const ups = ['super', ...rest].findIndex((name) => name !== 'super');
  return [...module.slice(0, module.length - ups), ...rest.slice(ups - 1)];
}

/**
 * By file, the files that it imports from. Modules of tests inside of a file do not count, nor does the root, which
 * says what others may use.
 * @param {Map<string, string>} texts by file, such as src/runtime/read.rs
 * @param {string} root such as src/runtime/mod.rs
 */
export function importsOf(texts, root) {
  const files = new Map([...texts.keys()].map((file) => [moduleOf(file).join('::'), file]));
  const fileOf = (path) => {
    for (let length = path.length; length > 0; length--) {
      const file = files.get(path.slice(0, length).join('::'));
      if (file !== undefined) return file;
    }
    return undefined;
  };
  const importsIn = (file, text) => {
    const [code] = text.split('#[cfg(test)]\nmod tests');
    const uses = [...code.matchAll(/^ *(?:pub(?:\([^)]*\))? )?use ([^;]+);/gm)].map(([, use]) =>
      use.replace(/\s+/g, ' '),
    );
    const named = uses
      .flatMap((use) => pathsOf(use.replace(/ ?([{},]) ?/g, '$1')))
      .map((path) => fileOf(absolute(path, moduleOf(file))));
    return [...new Set(named)].filter((to) => to !== undefined && to !== file && to !== root);
  };
  return new Map([...texts].map(([file, text]) => [file, importsIn(file, text)]));
}
