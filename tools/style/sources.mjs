// The files that the checks of style read, and the budgets that hold for each kind.

import fs from 'node:fs';
import path from 'node:path';
import { ask, ROOT } from '../common.mjs';

const TEXT = /\.(rs|wgsl|js|mjs|ts|css|html|md|toml)$/;
/** Written by programs, or by other people. */
const FOREIGN = /(^|\/)(fixtures|vendor)\//;

/** Folders whose code is part of the product: budgets of functions and files hold there. */
const PRODUCT = /^(src|js|shaders|media\/src|grammar\/src|tools|www)\//;
/** Cases of kernels and helpers of tests are tests. */
const TESTS = /(^|\/)(cases\w*|tests)(\.rs|\/)|^src\/harness\//;

/** The files of the repository that are texts, as `{ file, text }`; `undefined` where git does not list them. */
export function sources() {
  const listed = ask('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
  if (listed === null) return undefined;
  const files = listed.split('\n').filter((file) => TEXT.test(file) && !FOREIGN.test(file));
  return files
    .filter((file) => fs.existsSync(path.join(ROOT, file)))
    .map((file) => ({ file, text: fs.readFileSync(path.join(ROOT, file), 'utf8') }));
}

/** Whether the budgets of functions and files hold for this file. */
export const isProduct = (file) => PRODUCT.test(file) && !TESTS.test(file) && /\.(rs|wgsl|js|mjs|ts)$/.test(file);

/** The most lines of a file. */
export function mostLines(file) {
  if (!file.endsWith('.wgsl')) return 400;
  return /(^|\/)(mat_|subgroup_matrix)/.test(file) ? 250 : 150;
}
