/**
 * Sources as loading uses them. No code here.
 */
import type { ByteSource } from '../wasm/webgguf.js';

/** A source that has work to do after the model has all it needs. @internal */
export interface LoadSource extends ByteSource {
  /** Reads what the model did not need, as far as it is needed to check or to store the file. */
  finish?(): Promise<void>;
  /** Whether bytes came from the cache: if they are wrong, the server's may be right. */
  readonly usedStored?: boolean;
  /** Forgets what the cache has of this file. */
  discard?(): Promise<void>;
}
