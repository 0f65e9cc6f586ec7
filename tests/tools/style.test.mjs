// The checks of style find what they are made for, and nothing else; exceptions can only shrink.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largeFunctions, longFiles, withoutTests } from '../../tools/style/budgets.mjs';
import { functionsOf } from '../../tools/style/functions.mjs';
import { lex } from '../../tools/style/lexer.mjs';
import { endsOf, lostIn } from '../../tools/style/paths.mjs';
import { faultsOf, shrunk } from '../../tools/style/ratchet.mjs';
import { mostLines } from '../../tools/style/sources.mjs';
import { wideLines } from '../../tools/style/width.mjs';
import { openingsOf, words } from '../../tools/style/words.mjs';

const RUST = `
impl<'a> Lines<'a> {
    /// Not { a brace }.
    fn read<const N: usize>(&mut self, at: (usize, usize), by: impl Fn(u8, u8) -> u8) -> Result<[u8; N], Error> {
        let brace = '{';
        for line in self.lines() {
            if line.is_empty() { continue }
            let found = match line {
                "a {" => {
                    while self.goes_on(r#"}"#) {
                        self.next();
                    }
                }
                _ => 0,
            };
        }
    }

    fn declared(a: u8);
}

fn many(a: u8, b: u8, c: Vec<(u8, u8)>, d: u8, e: u8, f: u8, g: u8,) {}
`;

const SCRIPT = `
export class Reader extends Base {
  #held = new Map<string, number>();

  async read(at: number, { size, name }: Options, more?: (a: number) => void): Promise<{ bytes: number }> {
    if (at > 0) {
      for (let i = 0; i < at; i += 1) {
        while (true) {
          if (size / 2 > 1) {
            return { bytes: 1 };
          }
        }
      }
    } else if (name) {
      const found = [1, 2].map((x) => {
        if (x) {
          return x;
        }
        return \`{\${x}\`;
      });
    }
    return /[/{]/.test(name) ? { bytes: 2 } : { bytes: 3 };
  }
}

const seven = (a: 1, b: 2, c: 3, d: [4, 4], e: 5, f: 6, g: Map<7, 7>) => {
  return a;
};
export const rows = { one: 1, two(x) { return x; } };
`;

const named = (found, name) => found.find((fn) => fn.name === name);

test('functions of Rust: lines, arguments, nesting', () => {
  const found = functionsOf(RUST, 'rs');
  assert.deepEqual(
    found.map(({ name }) => name),
    ['read', 'many'],
  );
  assert.deepEqual(named(found, 'read'), { name: 'read', line: 4, lines: 14, args: 2, nesting: 3 });
  assert.equal(named(found, 'many').args, 7);
});

test('functions of TypeScript: methods, arrows, types, patterns and templates', () => {
  const found = functionsOf(SCRIPT, 'ts');
  assert.deepEqual(
    found.map(({ name }) => name),
    ['read', '=>', 'seven', 'two'],
  );
  assert.deepEqual(named(found, 'read'), { name: 'read', line: 5, lines: 19, args: 3, nesting: 4 });
  assert.deepEqual(
    found.slice(1).map(({ args, nesting }) => [args, nesting]),
    [
      [1, 1],
      [7, 0],
      [1, 0],
    ],
  );
});

test('comments and strings are no code', () => {
  assert.equal(lex('a /* { /* { */ } */ b', 'rs').code.trim().split(/\s+/).join(' '), 'a b');
  assert.equal(
    lex("let a = '{'; let b: &'a str = \"}\";", 'rs').code.replaceAll(/ +/g, ' '),
    "let a = ; let b: &'a str = ;",
  );
  assert.equal(lex('x = a / b / c; // {', 'ts').code.trim(), 'x = a / b / c;');
  assert.deepEqual(
    lex('f(); /* one */ // two', 'ts').comments.map(({ text }) => text),
    ['/* one */', '// two'],
  );
});

test('budgets hold for the product, not for its tests', () => {
  const long = {
    file: 'src/long.rs',
    text: `${'a();\n'.repeat(401)}#[cfg(test)]\nmod tests {\n${'b();\n'.repeat(50)}}\n`,
  };
  const sources = [long, { ...long, file: 'tests/long.rs' }, { ...long, file: 'src/kernels/norm/cases.rs' }];
  assert.deepEqual([...longFiles(sources)['lines of a file']], [['src/long.rs', { count: 401, where: [] }]]);
  assert.ok(!withoutTests('src/a.rs', long.text).includes('b()'));
  assert.deepEqual([mostLines('shaders/model/norm.wgsl'), mostLines('shaders/model/mat_mul.wgsl')], [150, 250]);
  const text = `fn long() {\n${'a();\n'.repeat(50)}}\nfn short() {\n${'a();\n'.repeat(48)}}\n`;
  const { 'lines of a function, 50 at most': large } = largeFunctions([{ file: 'src/a.rs', text }]);
  assert.deepEqual([...large], [['src/a.rs long', { count: 52, where: ['src/a.rs:1'] }]]);
});

test('words are found by folder, also where a line ends between them', () => {
  const found = words([
    { file: 'src/web/a.rs', text: '// With so many rows, those of a chunk.\n' },
    { file: 'src/cpu/b.rs', text: 'f(); // SO MANY\n' },
    { file: 'docs/records/2026-11-21-a.md', text: 'so many' },
  ]);
  const { count, where } = found['"so many": name the number'].get('src');
  assert.equal(count, 2);
  assert.deepEqual(where, [
    'src/web/a.rs:1: // With so many rows, those of a chunk.',
    'src/cpu/b.rs:1: f(); // SO MANY',
  ]);
  assert.equal(found['"those of": name the thing'].get('src').count, 1);
  const has = words([{ file: 'a.md', text: 'What it has. What it has learned, and what they have not read.' }]);
  assert.equal(has['"what it has": name the thing'].get('.').count, 1);
});

test('comments that begin with Of, That, Those or Its', () => {
  const count = (text) => openingsOf(text, 'ts').length;
  for (const text of ['/** Of x. */', '// That of y', 'f(); // Its z', '/**\n * Those of a\n */', '//! Of b']) {
    assert.equal(count(text), 1, text);
  }
  for (const text of ['// The x. All\n// Of it', '/** Often. */', '// Itself', "f('// Of x')", '/** The\n * Of */']) {
    assert.equal(count(text), 0, text);
  }
});

test('paths in documents and comments are files, or ends of their paths', () => {
  const ends = endsOf(['src/runtime/run/recovery.rs', 'js/types.ts']);
  const lost = (file, text) => lostIn(file, text, ends);
  const text = '`runtime/run/recovery.rs`, `types.ts`, `run/`, `src/gone.rs`, `mine.json`, `f(x)`, `dist/a.js`';
  assert.deepEqual(lost('docs/design/a.md', text), ['src/gone.rs', 'mine.json']);
  assert.deepEqual(lost('docs/guides/a.md', text), ['src/gone.rs']);
  assert.deepEqual(lost('docs/design/a.md', '```\n`src/gone.rs`\n```'), []);
  const source = '/// `run/recovery.rs`, `run/gone.rs`, `gone.rs`\nlet a = "`run/other.rs`";';
  assert.deepEqual(lost('src/a.rs', source), ['run/gone.rs']);
});

test('lines are no wider than 120 characters, but for what cannot be broken', () => {
  const wide = 'x'.repeat(121);
  const text = `${'ä'.repeat(120)}\n${wide}\n| ${wide} |\n[a](https://a.example/${wide})\n`;
  const [[file, { count, where }]] = wideLines([{ file: 'a.md', text }])['lines of more than 120 characters'];
  assert.deepEqual([file, count, where], ['a.md', 1, ['a.md:2: 121 characters']]);
});

test('an exception cannot grow, and one that is not needed is a fault', () => {
  const found = new Map([
    ['a', { count: 3, where: ['a:1'] }],
    ['b', { count: 2, where: ['b:1'] }],
  ]);
  assert.deepEqual(faultsOf(found, { a: 3, b: 5 }), []);
  assert.deepEqual(faultsOf(found, { a: 2, b: 2 }), ['a: 3, 2 at most', '  a:1']);
  assert.deepEqual(faultsOf(found, { b: 2 }), ['a: 3', '  a:1']);
  const [needless] = faultsOf(found, { a: 3, b: 2, gone: 1 });
  assert.match(needless, /^gone: the exception is no longer needed/);
  assert.deepEqual(shrunk(found, { a: 2, b: 5, gone: 1 }), { a: 2, b: 2 });
});
