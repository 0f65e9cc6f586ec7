/**
 * Which loads mean the same model: the name by which tabs find each other.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { hubName } from '../load/hub.js';
import { requestFor } from '../load/responses.js';
import { RELEASE } from '../release.js';
import type { LoadOptions } from '../types/load.js';
import type { Source, SourcePart } from '../types/source.js';

/** Options by which models differ. */
const OPTIONS = [
  ...['backend', 'contextLength', 'kvType', 'parallel', 'pooling', 'precision', 'perLayerEmbeddings'],
  ...['keepEncoder', 'maxImageTokens', 'resize', 'hub', 'cacheKey', 'sha256'],
] as const;

/**
 * The name of the model that `source` and `options` mean. It begins with the release: tabs with another one, after a
 * new deployment of a site, have an engine of their own.
 *
 * @throws {WebggufError} `feature_missing` for what a tab cannot do with a model of all tabs
 * @internal
 */
export async function sharedName(source: Source, options: LoadOptions): Promise<string> {
  const { gpu, mmproj, vocoder, draft } = options;
  if (gpu) throw invalidArgument("load: option 'gpu' does not go with 'shared': a device belongs to one thread");
  const files = { model: source, ...(mmproj && { mmproj }), ...(vocoder && { vocoder }), ...(draft && { draft }) };
  const named = Object.entries(files).map(async ([role, file]) => [role, await placeOf(file as Source | true)]);
  const chosen = OPTIONS.map((name) => [name, (options as Record<string, unknown>)[name]]);
  return `webgguf ${RELEASE} ${JSON.stringify([await Promise.all(named), draft === false, chosen])}`;
}

async function placeOf(source: Source | true): Promise<unknown> {
  if (source === true) return 'beside';
  const parts: SourcePart[] = await Promise.all([await source].flat());
  return parts.map(placeOfPart);
}

function placeOfPart(part: SourcePart): string {
  if (typeof part === 'string' && hubName(part)) return part;
  if (typeof part === 'string' || part instanceof URL) return requestFor(part).url;
  if (part instanceof Request && part.method === 'GET') return part.url;
  if (part instanceof File) return `${part.name} ${part.size} ${part.lastModified}`;
  const hint = 'each tab must be able to read it again: give an address, a hub name or a File';
  throw new WebggufError('feature_missing', `load: this source does not go with 'shared': ${hint}`);
}
