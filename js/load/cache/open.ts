/**
 * The files of a model through the cache, where there is one and they may be stored.
 */
import { Download } from '../download.js';
import type { Patience } from '../patience.js';
import type { LoadSource } from '../source.js';
import { CachedDownload, type CacheRules, isMeant } from './cached-download.js';
import { hasStorage, openRoot, type Place } from './folder.js';
import { keyOfUrl, shownUrl } from './key.js';
import { StoredFile } from './stored-file.js';
import { type LoadWarning, warningOf } from './warning.js';

/** What a load says of the cache. @internal */
export interface CacheUse {
  /** `undefined` is the default; `read` uses a model that is stored already, and stores nothing. */
  readonly mode: boolean | 'revalidate' | 'read' | undefined;
  /** The name under which the page wants the model kept; by default its URL. */
  readonly key?: string | undefined;
  /** The name by which the page asked, where it is no URL. */
  readonly alias?: string | undefined;
  /** Promised digests, one for each file. */
  readonly sha256: readonly string[];
  /** Files of the model, of which maybe only the first is opened. */
  readonly parts: number;
  /** Whether requests with credentials are stored by default, too. */
  readonly allowsLogin: boolean;
  /** Bytes that all stored models may take. */
  readonly limit?: number | undefined;
  readonly patience: Patience;
  readonly warn: (warning: LoadWarning) => void;
}

/** The files as sources, or `undefined` where the cache is not to be used. @internal */
export async function openCached(
  requests: readonly Request[],
  signal: AbortSignal,
  use: CacheUse,
): Promise<LoadSource[] | undefined> {
  const [first] = requests;
  if (!first || !isWanted(requests, use)) return undefined;
  const url = keyOfUrl(first.url);
  const key = use.key ?? url;
  let root: FileSystemDirectoryHandle;
  try {
    root = await openRoot();
  } catch (error) {
    if (use.mode !== 'read') use.warn(warningOf(shownUrl(first.url), error));
    return undefined;
  }
  const place = (index: number): Place => ({ root, key, part: index + 1, parts: use.parts });
  const rules = (index: number): CacheRules => ({
    aliases: use.alias === undefined ? [] : [use.alias],
    isNamed: key !== url,
    sha256: use.sha256[index],
    revalidate: use.mode === 'revalidate',
    limit: use.limit,
    patience: use.patience,
    warn: use.warn,
  });
  const open = async (request: Request, index: number): Promise<LoadSource> => {
    const isCached = use.mode !== 'read' || (await isStored(request, place(index), rules(index)));
    if (!isCached) return new Download(request, signal, use.patience);
    return new CachedDownload(request, signal, place(index), rules(index));
  };
  return Promise.all(requests.map(open));
}

async function isStored(request: Request, place: Place, rules: CacheRules): Promise<boolean> {
  const stored = await StoredFile.open(place).catch(() => undefined);
  return stored?.state.complete === true && isMeant(stored.state, request.url, rules);
}

/**
 * Files that everybody on this origin gets by their URL. Those behind a login are stored only where the page says so,
 * since the next user of the browser would get them, too.
 */
function isWanted(requests: readonly Request[], { mode, allowsLogin }: CacheUse): boolean {
  if (mode === false) return false;
  if (!requests.every(({ method, url }) => method === 'GET' && /^https?:/.test(url))) return false;
  if (mode === true || mode === 'revalidate') return true;
  // Node.js has no origin and no storage: a cache is not expected there.
  if (!hasStorage() && !('isSecureContext' in globalThis)) return false;
  const isPublic = (headers: Headers): boolean => allowsLogin || !headers.has('authorization');
  return requests.every(({ headers, cache }) => cache !== 'no-store' && isPublic(headers));
}
