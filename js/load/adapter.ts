/**
 * The bytes of an adapter: a page that has none does not load this.
 */
import { abortable, cancellable } from '../cancel.js';
import { invalidArgument } from '../errors.js';
import { pageFiles } from './page-files.js';
import { splitSourceOptions } from '../options.js';
import { warner } from './cache/warning.js';
import { withSources } from './sources.js';
import type { AdapterOptions } from '../types/load.js';
import type { Source } from '../types/source.js';
import type { ByteSource } from '../wasm/webgguf.js';

/**
 * The GGUF file that `source` holds, or that is made of PEFT's safetensors.
 *
 * @internal
 */
export async function readAdapter(source: Source, options: AdapterOptions, architecture: string): Promise<Uint8Array> {
  const { config, ...others } = options;
  // The second of two digests is the configuration's.
  const digests = typeof others.sha256 === 'string' ? [others.sha256] : (others.sha256 ?? []);
  const beside = config ?? configBeside(source);
  const isPair = beside !== undefined && digests.length === 2;
  const file = await readFile(source, isPair ? { ...others, sha256: digests[0] } : others);
  if (String.fromCharCode(...file.subarray(0, 4)) === 'GGUF') return file;
  if (beside === undefined) {
    if (!isSafetensors(file)) return file; // whose error says what it is
    throw invalidArgument("addAdapter: safetensors need their adapter_config.json, by the option 'config'");
  }
  const { sha256: _, cacheKey: _key, ...rest } = others;
  const text = new TextDecoder().decode(await readFile(beside, isPair ? { ...rest, sha256: digests[1] } : rest));
  const { ggufOfPeft } = await pageFiles.peft();
  const warn = warner(others.onWarning);
  return ggufOfPeft(file, text, architecture, (message) => warn({ code: 'file', message }));
}

/** Whether a file begins with the length of a header and the header. */
const isSafetensors = (file: Uint8Array): boolean => file[8] === 0x7b && file.subarray(4, 8).every((byte) => !byte);

/** Where a URL of safetensors has its config. */
function configBeside(source: Source): string | undefined {
  const address = source instanceof URL ? source.href : source;
  if (typeof address !== 'string' || !/\.safetensors($|\?)/.test(address)) return undefined;
  return address.replace(/[^/]*\.safetensors/, 'adapter_config.json');
}

async function readFile(source: Source, options: AdapterOptions): Promise<Uint8Array> {
  const { source: from, rest } = splitSourceOptions(options);
  return cancellable(rest.signal, (scope) =>
    withSources(source, from, { signal: scope, work: (parts) => abortable(whole(parts), scope), free: () => {} }),
  );
}

async function whole([file, ...others]: ByteSource[]): Promise<Uint8Array> {
  if (!file || others.length > 0) throw invalidArgument(`addAdapter: expected one file, found ${others.length + 1}`);
  const pieces: Uint8Array[] = [];
  for (let piece = await file.next(); piece; piece = await file.next()) pieces.push(piece.slice());
  return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}
