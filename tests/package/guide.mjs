// The code of docs/guides/other-libraries.md as modules, which tests run as they stand.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../tools/common.mjs';

const PAGE = fs.readFileSync(path.join(ROOT, 'docs', 'guides', 'other-libraries.md'), 'utf8');

/** Title, words and first block of code of each section. */
export const SECTIONS = PAGE.split(/^## /m)
  .slice(1)
  .map((text) => {
    const [, title, words, code] = /^(.*)\n([^]*?)```\w+\n([^]*?)^```$/m.exec(text);
    return { title, words, code };
  });

/** Writes the code of a section into a folder, with `more` behind it. Returns the file's path. */
export function writeSection(folder, title, { name = title, change = (code) => code, more = '' } = {}) {
  const section = SECTIONS.find((one) => one.title === title);
  assert.ok(section, `no section '${title}'`);
  const file = path.join(folder, name);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(file, `${change(section.code)}\n${more}`);
  return file;
}
