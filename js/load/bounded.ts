/**
 * Sources that may not have more than so many bytes together.
 */
import { WebggufError } from '../errors.js';
import type { LoadSource } from './verified.js';

/**
 * Makes sources count what they give.
 *
 * @param parts the files of a model; their `next` is replaced
 * @throws {WebggufError} `limit_exceeded`, here where the sizes are known, else from `next`
 * @internal
 */
export function bound(parts: readonly LoadSource[], maxBytes: number | undefined): void {
  if (maxBytes === undefined) return;
  const known = parts.reduce((sum, { size = 0 }) => sum + size, 0);
  if (known > maxBytes) throw tooLarge(parts, `${known}`, maxBytes);
  let given = 0;
  for (const part of parts) {
    const next = part.next.bind(part);
    part.next = async () => {
      const piece = await next();
      given += piece?.length ?? 0;
      if (given > maxBytes) throw tooLarge(parts, `${given} or more`, maxBytes);
      return piece;
    };
  }
}

function tooLarge([first]: readonly LoadSource[], found: string, maxBytes: number): WebggufError {
  return new WebggufError('limit_exceeded', `${first?.name}: the model has ${found} bytes, 'maxBytes' is ${maxBytes}`);
}
