/**
 * The WebAssembly for images and sounds: a third module, which is fetched with the first of them or an encoder.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { mediaFile } from '../wasm-file.js';
import glue, { ArrivingSound, Picture, Samples, Sound } from './webgguf_media.js';

const exported = { ArrivingSound, Picture, Samples, Sound };

let started: Promise<unknown> | undefined;

/** What the module exports. @internal */
export async function mediaModule(): Promise<typeof exported> {
  started ??= mediaFile().then((file) => glue({ module_or_path: file }));
  try {
    await started;
  } catch (cause) {
    started = undefined; // the next call may have more luck
    if (cause instanceof WebggufError) throw cause;
    throw new WebggufError('download_failed', `the module for images and sounds: ${String(cause)}`, { cause });
  }
  return exported;
}

/** The module throws strings. @internal */
export function named<T>(what: 'image' | 'audio', work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (typeof cause === 'string') throw invalidArgument(`${what}: ${cause}`);
    throw new WebggufError('internal', `${what}: ${String(cause)}`, { cause });
  }
}
