/**
 * What the WebAssembly lacks for models of few families, for formats of few files, and for adapters: shaders and
 * tables, which a page fetches when it first needs them.
 */
import { WebggufError } from '../errors.js';
import { wasmClasses } from './instance.js';

/** What `rare.js` exports. @internal */
export type RareFiles = Pick<typeof import('./rare.js'), 'rareShaders' | 'grids'>;

let given: Promise<void> | undefined;

/** Whether the WebAssembly has them. @internal */
export const hasRare = (): boolean => given !== undefined;

/**
 * Gives them to the WebAssembly, once.
 *
 * @param fetch imports `rare.js`
 * @throws {WebggufError} `download_failed`
 * @internal
 */
export function giveRare(fetch: () => Promise<RareFiles>): Promise<void> {
  given ??= give(fetch).catch((cause: unknown) => {
    given = undefined; // the next load may reach the file
    if (cause instanceof WebggufError) throw cause;
    const message = `wasm/rare.js, which has shaders that this model needs, could not be imported (${String(cause)})`;
    throw new WebggufError('download_failed', message, { cause });
  });
  return given;
}

async function give(fetch: () => Promise<RareFiles>): Promise<void> {
  const [{ giveRare: take }, { rareShaders, grids }] = await Promise.all([wasmClasses(), fetch()]);
  take(
    rareShaders,
    Uint8Array.from(atob(grids), (byte) => byte.charCodeAt(0)),
  );
}
