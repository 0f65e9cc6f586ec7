// What the demo lets Markdown cost, without a page: the parser is the one that the page has. The clock is not asked:
// here it always says that too much time has passed, so that what is counted decides alone.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Marked, Tokenizer } from 'marked';
import { filesUnder, ROOT } from '../../tools/common.mjs';
import { countedRules, together, TooCostly, within } from '../../www/demo/markdown-limits.js';

const { now } = performance;
before(() => {
  let time = 0;
  performance.now = () => {
    time += 1e9;
    return time;
  };
});
after(() => {
  performance.now = now;
});

/** Rules that may read all that they are given; others look at its beginning. */
const READING = ['inlineText', 'emStrong', 'url', 'del', 'link'];

/** Counts how much of a text these rules are given, and how deep the parser calls itself. */
let given;
let deepest;
function countingRules() {
  const rules = countedRules(Tokenizer);
  let depth = 0;
  const counting = ([name, rule]) => [
    name,
    function counted(...values) {
      if (READING.includes(name)) given += values[0].length;
      depth += 1;
      deepest = Math.max(deepest, depth);
      try {
        return rule.apply(this, values);
      } finally {
        depth -= 1;
      }
    },
  ];
  return Object.fromEntries(Object.entries(rules).map(counting));
}
const marked = new Marked({ gfm: true, breaks: true, tokenizer: countingRules() });

/** What becomes of a text: HTML, or why not; and what that took. */
function parse(text) {
  [given, deepest] = [0, 0];
  try {
    return { html: within(text, (each) => marked.parse(each)), given, deepest };
  } catch (error) {
    return { error, given, deepest };
  }
}

const MARKS = ['>', '> ', '- ', '1. ', '* ', '+ ', '[', '](', '![', '*', '**', '_', '__', '~~', '`', '``', '<', '</a>'];
MARKS.push('<!--', '|', '|-', '\n', '\n\n', '# ', '=\n', '---\n', '    ', '```\n', '\\', '&', '!', 'http://', 'a@');
MARKS.push(
  'www.',
  '[a]: b\n',
  '- [ ] ',
  'a',
  'a ',
  '\t',
  '\u202e',
  '\u0000',
  '😀',
  ':',
  '(',
  ')',
  '"',
  '<a b="',
  '<b>',
);

const filled = (mark, length) => mark.repeat(Math.ceil(length / mark.length)).slice(0, length);

/** Marks one after another as a number says. */
function mixed(seed, length) {
  let state = seed;
  const next = (count) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % count;
  };
  const some = Array.from({ length: 2 + next(4) }, () => MARKS[next(MARKS.length)]);
  let text = '';
  while (text.length < length) text += some[next(some.length)];
  return text;
}

test('no text of marks makes the parser read without end, or call itself without end', () => {
  const texts = [];
  for (const a of MARKS) for (const b of MARKS) texts.push(filled(a + b, 3000));
  for (let seed = 1; seed <= 300; seed += 1) texts.push(mixed(seed, 6000));
  for (const mark of MARKS) texts.push(filled(mark, 100_000), `${filled(mark, 4000)}text`);
  let refused = 0;
  for (const text of texts) {
    const { error, given: read, deepest: depth } = parse(text);
    const begins = JSON.stringify(text.slice(0, 30));
    assert.ok(!error || error instanceof TooCostly || /Infinite loop/.test(error.message), `${begins}: ${error}`);
    assert.ok(depth <= 20, `${begins}: ${depth} deep`);
    assert.ok(read < 2e6 + 200 * text.length, `${begins}: ${read} characters of ${text.length} were read`);
    refused += error ? 1 : 0;
  }
  assert.ok(refused > 20, `${refused} of ${texts.length} were refused`);
});

test('a text that people write is never too costly', () => {
  const documents = filesUnder('docs', 'README.md', 'CHANGELOG.md').filter((file) => file.endsWith('.md'));
  assert.ok(documents.length > 20);
  for (const file of documents) {
    const { error } = parse(fs.readFileSync(path.join(ROOT, file), 'utf8'));
    assert.equal(error, undefined, file);
  }
  const lists = {
    'a list': '- one **thing** with `code` and a [link](https://a.example/b)\n'.repeat(300),
    'a table': `| a | b | c |\n|---|---|---|\n${'| 1 | some words | `3` |\n'.repeat(500)}`,
    'lines without a paragraph': 'Some words of **a poem**, which have no end of their own\n'.repeat(60),
    'a program': `\`\`\`js\n${'const a = [1, 2, { b: "c" }]; // **\n'.repeat(4000)}\`\`\``,
    'a long paragraph': 'Some words, *with emphasis* here and there, and more of them after that. '.repeat(60),
    nested: Array.from({ length: 10 }, (_, depth) => `${'  '.repeat(depth)}- item`).join('\n'),
  };
  for (const [name, text] of Object.entries(lists)) assert.equal(parse(text).error, undefined, name);
});

test('texts that are drawn together share what they may cost', () => {
  const text = filled('*a_b', 600);
  assert.equal(parse(text).error, undefined, 'one is read');
  assert.throws(() => together(() => Array.from({ length: 300 }, () => within(text, (each) => marked.parse(each)))), {
    name: 'TooCostly',
  });
});

test('elements are counted, and a text of any length is refused at once', () => {
  assert.equal(parse(filled('*\n', 190_000)).error?.name, 'TooCostly');
  const { error, given: read } = parse('a'.repeat(500_000));
  assert.equal(error?.name, 'TooCostly');
  assert.equal(read, 0);
});
