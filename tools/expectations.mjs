// What llama.cpp says of the models of tests/fixtures/models (see the README there).

import fs from 'node:fs';
import path from 'node:path';
import { readJson } from './common.mjs';

/** The expectations of every model that the folder's models.txt names, with `name`, and `same_as` resolved. */
export function readExpectations(folder) {
  const read = (name) => readJson(path.join(folder, `${name}.json`));
  const names = fs.readFileSync(path.join(folder, 'models.txt'), 'utf8').split('\n').filter(Boolean);
  return names.map((name) => {
    const entry = read(name);
    return entry.same_as ? { name, ...read(entry.same_as), ...entry } : { name, ...entry };
  });
}
