/**
 * The page's hand on the cache: what is stored, how much room there is, and deleting.
 */
import { WebggufError } from '../../errors.js';
import { requestFor } from '../responses.js';
import { aliasOf, fileRequest, type HubOptions, parseHubName } from '../hub.js';
import { hasStorage, openRoot } from './folder.js';
import { keyOfUrl } from './key.js';
import { stealLock } from './lock.js';
import { type CachedModel, type StoredModel, storedModels } from './models.js';

/** How long a tab that writes a file may take to notice that it is deleted, in milliseconds. */
const PATIENCE = 3000;

/** Room for models, in bytes; browsers give estimates. */
export interface CacheEstimate {
  /** What the stored models take. */
  readonly models: number;
  /** What all of this origin takes. */
  readonly usage: number;
  /** What the browser would give this origin at most, a share of the disk. */
  readonly quota: number;
}

/**
 * The models that `load` has stored in the origin's private file system. Where there is none, it is empty.
 *
 * A model is named as for `load`: by its URL (`string`, `URL` or `Request`), by its name on the hub
 * (`owner/repo:Q4_K_M`), or by its `cacheKey`.
 *
 * @example
 * for (const { key, bytes } of await cache.list()) console.log(key, bytes);
 * if (!(await cache.has(url))) console.log('this will take a while');
 * await cache.delete(url);
 */
export const cache = {
  /** All models that are stored, whole or in part; the one that was used last comes first. */
  async list(): Promise<CachedModel[]> {
    const models = (await found()).map(({ model }) => model);
    return models.sort((a, b) => b.lastUsed.getTime() - a.lastUsed.getTime());
  },

  /**
   * Whether a model is stored as a whole, so that it loads without a request.
   *
   * @param options `hub`: as for `load`, where the name is one of the hub
   */
  async has(name: string | URL | Request, options: Pick<HubOptions, 'hub'> = {}): Promise<boolean> {
    return (await found()).some((stored) => stored.model.complete && isCalled(stored, name, options));
  },

  /**
   * Deletes a model, also one that is being downloaded: that load goes on without the cache, in whatever tab. A model
   * that is loaded stays usable.
   *
   * @param options `hub`: as for `load`, where the name is one of the hub
   * @returns whether there was one
   * @throws {WebggufError} `internal` where the browser refuses
   */
  async delete(name: string | URL | Request, options: Pick<HubOptions, 'hub'> = {}): Promise<boolean> {
    const models = (await found()).filter((stored) => isCalled(stored, name, options));
    for (const { folder } of models) await remove(folder);
    return models.length > 0;
  },

  /**
   * Deletes all models and whatever else webgguf has stored for this origin, such as what it found out about the GPU.
   *
   * @throws {WebggufError} `internal` where the browser refuses
   */
  async clear(): Promise<void> {
    const root = await openRoot().catch(() => undefined); // there is nothing
    if (!root) return;
    const names: [string, string][] = [];
    for await (const [name, { kind }] of root.entries()) names.push([name, kind]);
    for (const [name, kind] of names) {
      if (kind === 'directory') await remove(name);
      else await root.removeEntry(name).catch(() => {}); // another tab was faster
    }
  },

  /** How much room there is. */
  async estimate(): Promise<CacheEstimate> {
    const nothing = (): StorageEstimate => ({});
    const { usage = 0, quota = 0 } = hasStorage() ? await navigator.storage.estimate().catch(nothing) : nothing();
    const models = (await found()).reduce((sum, { model }) => sum + model.bytes, 0);
    return { models, usage, quota };
  },

  /**
   * Asks the browser not to evict this origin's data when the disk gets full. Browsers decide by how much the site is
   * used, or ask the user; call it after a click. Only in pages.
   *
   * @returns whether the data is safe from eviction now
   */
  async persist(): Promise<boolean> {
    const { storage } = globalThis.navigator ?? {};
    return (await storage?.persist?.().catch(() => false)) ?? false;
  },
};

/** What is stored; nothing where the browser lets nothing be stored. */
async function found(): Promise<StoredModel[]> {
  return storedModels().catch(() => []);
}

function isCalled(
  { model, aliases }: StoredModel,
  name: string | URL | Request,
  { hub }: Pick<HubOptions, 'hub'>,
): boolean {
  if (name === model.key) return true;
  const hubName = typeof name === 'string' ? parseHubName(name) : undefined;
  if (hubName?.file !== undefined) return model.key === keyOfUrl(fileRequest(hubName, hubName.file, { hub }).url);
  if (hubName) return aliases.includes(aliasOf(hubName, hub));
  return model.key === urlKey(name);
}

/** The key of a URL; `undefined` for what is none, such as the `cacheKey` of another model. */
function urlKey(name: string | URL | Request): string | undefined {
  try {
    return keyOfUrl(requestFor(name).url);
  } catch {
    return undefined;
  }
}

/** Takes the locks of all writers, and removes the folder as soon as they have closed their files. */
async function remove(folder: string): Promise<void> {
  const root = await openRoot();
  const model = await root.getDirectoryHandle(folder).catch(() => undefined);
  if (!model) return;
  const locks = [];
  for await (const part of model.keys()) locks.push(await stealLock(`webgguf:${folder}/${part}`));
  const end = performance.now() + PATIENCE;
  try {
    for (;;) {
      const error = await root
        .removeEntry(folder, { recursive: true })
        .catch((cause: unknown) => cause as DOMException);
      if (!error || error.name === 'NotFoundError') return;
      if (performance.now() > end) {
        throw new WebggufError('internal', `a stored model could not be deleted: ${error.message}`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    for (const lock of locks) lock.release();
  }
}
