// Programs and libraries that one suite of tests or the site needs, and the project does not: a folder's tools.json
// lists them, and they are installed elsewhere.

import fs from 'node:fs';
import path from 'node:path';
import { must, readJson } from './common.mjs';

export const NPM_FLAGS = ['--no-audit', '--no-fund', '--prefer-offline', '--fetch-retries=6'];

/** Installs what tools.json of a folder lists into another, unless that is there already. */
export async function installTools(from, into) {
  const wanted = fs.readFileSync(path.join(from, 'tools.json'), 'utf8');
  const stamp = path.join(into, 'installed.json');
  if (JSON.stringify(readJson(stamp)) === JSON.stringify(JSON.parse(wanted))) return;
  fs.rmSync(into, { recursive: true, force: true });
  fs.mkdirSync(into, { recursive: true });
  fs.writeFileSync(path.join(into, 'package.json'), wanted);
  await must('npm', ['install', ...NPM_FLAGS], { cwd: into, quiet: true });
  fs.writeFileSync(stamp, wanted);
}
