/**
 * A source whose SHA-256 was promised.
 */
import { hashYielding, Sha256, wrongDigest } from './cache/sha256.js';
import type { ByteSource } from '../wasm/webgguf.js';
import type { LoadSource } from './source.js';

/**
 * `source`, read to its end by `finish`, which throws `integrity_failed` where its digest is another. Nothing is read
 * again where `mayChange`: what comes then would be unchecked.
 *
 * @param signal ends the source: `cancel` does not before `finish`, which needs all bytes
 * @internal
 */
export function verified(
  source: ByteSource,
  sha256: string,
  { signal, mayChange }: { readonly signal: AbortSignal; readonly mayChange: boolean },
): LoadSource {
  const hash = new Sha256();
  signal.addEventListener('abort', () => source.cancel(), { once: true });
  let finished = false;
  const next = async (): Promise<Uint8Array | undefined> => {
    const piece = await source.next();
    if (piece) await hashYielding(hash, piece);
    return piece;
  };
  return {
    name: source.name,
    get size() {
      return source.size;
    },
    next,
    cancel: () => {
      if (finished) source.cancel();
    },
    ...(source.read && !mayChange && { read: source.read.bind(source) }),
    finish: async () => {
      while (await next());
      finished = true;
      const found = hash.hex();
      if (found !== sha256) throw wrongDigest(source.name, found, sha256);
    },
  };
}
