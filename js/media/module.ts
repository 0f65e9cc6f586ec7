/**
 * The WebAssembly for images: a third module, which is fetched with the first image or encoder.
 */
import { WebggufError } from '../errors.js';
import { mediaFile } from '../wasm-file.js';
import glue, { checkSize, Picture } from './webgguf_media.js';

let started: Promise<unknown> | undefined;

/** What the module exports. @internal */
export async function mediaModule(): Promise<{ checkSize: typeof checkSize; Picture: typeof Picture }> {
  started ??= mediaFile().then((file) => glue({ module_or_path: file }));
  try {
    await started;
  } catch (cause) {
    started = undefined; // the next call may have more luck
    if (cause instanceof WebggufError) throw cause;
    throw new WebggufError('download_failed', `the module for images: ${String(cause)}`, { cause });
  }
  return { checkSize, Picture };
}
