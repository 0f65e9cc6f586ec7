/**
 * Modules of the thread for sound: a file of the package, or the same as a blob.
 */
import { WebggufError } from '../errors.js';

/** A worklet's module: where its file is, its function, and what the function is given. @internal */
export interface Worklet {
  readonly url: string | URL;
  readonly code: (...parts: never[]) => void;
  readonly parts?: readonly (new (...args: never[]) => object)[];
}

/**
 * Loads a module into the thread for sound: from its file, and where that is not there, as behind a bundler that moved
 * the JavaScript alone, as a blob, which a content security policy must allow.
 *
 * @throws {WebggufError} `feature_missing`
 * @internal
 */
export async function addWorklet(context: BaseAudioContext, { url, code, parts = [] }: Worklet): Promise<void> {
  if (!context.audioWorklet)
    throw new WebggufError('feature_missing', 'this page has no AudioWorklet: it needs https:');
  try {
    await context.audioWorklet.addModule(String(url));
  } catch (first) {
    const blob = URL.createObjectURL(new Blob([`(${code})(${parts.join()})`], { type: 'text/javascript' }));
    try {
      await context.audioWorklet.addModule(blob);
    } catch (cause) {
      const why = `${String(first)}, and as a blob: ${String(cause)}`;
      throw new WebggufError('feature_missing', `the worklet ${url} cannot be loaded: ${why}`, { cause });
    } finally {
      URL.revokeObjectURL(blob);
    }
  }
}
