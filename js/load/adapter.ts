/**
 * The bytes of an adapter: a page that has none does not load this.
 */
import { abortable, cancellable } from '../cancel.js';
import { invalidArgument } from '../errors.js';
import { splitSourceOptions } from '../options.js';
import { withSources } from './sources.js';
import type { AdapterOptions, Source } from '../types.js';
import type { ByteSource } from '../wasm/webgguf.js';

/**
 * The GGUF file that `source` holds, or that is made of PEFT's safetensors.
 *
 * @internal
 */
export async function readAdapter(source: Source, options: AdapterOptions, architecture: string): Promise<Uint8Array> {
  const { config, ...others } = options;
  const file = await readFile(source, others);
  if (String.fromCharCode(...file.subarray(0, 4)) === 'GGUF') return file;
  const beside = config ?? configBeside(source);
  if (beside === undefined) return file; // whose error says what it is
  const { sha256: _, cacheKey: _key, ...rest } = others;
  const text = new TextDecoder().decode(await readFile(beside, rest));
  const { ggufOfPeft } = await import('./peft.js');
  return ggufOfPeft(file, text, architecture);
}

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
