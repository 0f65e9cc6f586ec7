/**
 * What the WebAssembly lacks for models of few families, for formats of few files, for adapters and for few devices:
 * shaders, tables and code, which a page fetches when it first needs them.
 */
import { bytesOfBase64 } from '../base64.js';
import { WebggufError } from '../errors.js';
import { wasmClasses } from './instance.js';
import { linkPart } from './link-part.js';

/** What `rare.js` exports. @internal */
export type RareFiles = Pick<typeof import('./rare.js'), 'rareShaders' | 'grids'>;
/** What `device.js` exports. @internal */
export type DeviceFiles = Pick<typeof import('./device.js'), 'deviceShaders'>;
/** What `families.js` exports. @internal */
export type FamilyFiles = Pick<typeof import('./families.js'), 'families'>;
/** What `encoders.js` exports. @internal */
export type EncoderFiles = Pick<typeof import('./encoders.js'), 'encoders'>;
/** The files that WebAssembly may ask for, by name, and what imports them. @internal */
export interface NeededFiles {
  readonly rare: () => Promise<RareFiles>;
  readonly device: () => Promise<DeviceFiles>;
  readonly families: () => Promise<FamilyFiles>;
  readonly encoders: () => Promise<EncoderFiles>;
}

const given: Partial<Record<keyof NeededFiles, Promise<void>>> = {};

/** Whether the WebAssembly has `rare.js`. @internal */
export const hasRare = (): boolean => given.rare !== undefined;

/**
 * Gives the files of one name to the WebAssembly, once.
 *
 * @throws {WebggufError} `download_failed`
 * @internal
 */
export function giveNeeded<N extends keyof NeededFiles>(name: N, files: Pick<NeededFiles, N>): Promise<void> {
  given[name] ??= give(files[name]).catch((cause: unknown) => {
    delete given[name]; // the next load may reach the file
    if (cause instanceof WebggufError) throw cause;
    const why = `which this model needs, could not be imported (${String(cause)})`;
    const message = `wasm/${name}.js, ${why}`;
    throw new WebggufError('download_failed', message, { cause });
  });
  return given[name];
}

async function give(fetch: NeededFiles[keyof NeededFiles]): Promise<void> {
  const [{ giveRare, giveDevice, exports }, found] = await Promise.all([wasmClasses(), fetch()]);
  if ('families' in found) return linkPart(exports, 'wasm/families.js', found.families);
  if ('encoders' in found) return linkPart(exports, 'wasm/encoders.js', found.encoders);
  if ('deviceShaders' in found) return giveDevice(found.deviceShaders);
  giveRare(found.rareShaders, bytesOfBase64(found.grids));
}
