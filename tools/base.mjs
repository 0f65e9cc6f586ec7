// Where the project is, and a failure whose cause is known.

import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
export const CACHE = path.join(ROOT, '.cache');

/** A failure whose cause and cure are known: printed without a stack. */
export class Stop extends Error {
  /** @param {string} missing what is missing @param {string} [cure] what to do about it */
  constructor(missing, cure) {
    super(cure ? `${missing}\n  what to do: ${cure}` : missing);
  }
}
