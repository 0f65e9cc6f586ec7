/**
 * Tells one set of examples from another.
 */
import { Sha256 } from '../../load/cache/sha256.js';
import type { Dataset } from './batches.js';

/** A digest of all ids and of what is learned of them, in hexadecimal. */
export function digestOf({ sequences, heldOut }: Dataset): string {
  const digest = new Sha256();
  for (const list of [sequences, heldOut]) {
    digest.update(new Uint8Array(Uint32Array.of(list.length).buffer));
    for (const { ids, targets, segments } of list) {
      digest.update(new Uint8Array(Uint32Array.of(ids.length).buffer));
      for (const { buffer, byteOffset, byteLength } of [ids, targets, segments]) {
        digest.update(new Uint8Array(buffer, byteOffset, byteLength));
      }
    }
  }
  return digest.hex().slice(0, 32);
}
