/**
 * Whether a prompt has room for what is about to be encoded.
 */
import { WebggufError } from '../errors.js';

/** Nothing is encoded that has no room. @internal */
export function checkRows(what: string, rows: number, { most }: { readonly most: number }): void {
  if (rows <= most) return;
  throw new WebggufError('context_full', `${what} take ${rows} tokens, the context has room for ${most}`);
}
