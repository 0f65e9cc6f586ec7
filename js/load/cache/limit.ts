/**
 * A bound on what stored models take together: those that were used longest ago go first.
 */
import { folderOf } from './key.js';
import { tryLock } from './lock.js';
import { type StoredModel, storedModels } from './models.js';

/** The file that is to be stored. @internal */
export interface Wanted {
  readonly root: FileSystemDirectoryHandle;
  /** The key of its model. */
  readonly key: string;
  /** Bytes of the file, and the number of them that are stored now. */
  readonly size: number;
  readonly stored: number;
}

/**
 * Deletes other models, the one that was used longest ago first, until `limit` bytes hold all with the wanted file.
 * None that another load writes is deleted, and none at all where that would not be enough.
 *
 * @throws {DOMException} `QuotaExceededError` where there is no room
 * @internal
 */
export async function keepWithin(limit: number | undefined, { root, key, size, stored }: Wanted): Promise<void> {
  if (limit === undefined) return;
  const models = await storedModels();
  const own = models.find(({ folder }) => folder === folderOf(key));
  const wanted = (own?.model.bytes ?? 0) - stored + size;
  if (wanted > limit) throw new DOMException(`${wanted} bytes, 'cacheLimit' is ${limit}`, 'QuotaExceededError');
  const others = models.filter((model) => model !== own).sort((a, b) => lastUse(a) - lastUse(b));
  let total = wanted + others.reduce((sum, { model }) => sum + model.bytes, 0);
  for (const { folder, model } of others) {
    if (total <= limit) return;
    if (await removeUnused(root, folder)) total -= model.bytes;
  }
  if (total > limit) {
    const message = `${wanted} bytes, and others write ${total - wanted}; 'cacheLimit' is ${limit}`;
    throw new DOMException(message, 'QuotaExceededError');
  }
}

const lastUse = ({ model }: StoredModel): number => model.lastUsed.getTime();

/** Removes a model unless a load writes it; whether it did. */
async function removeUnused(root: FileSystemDirectoryHandle, folder: string): Promise<boolean> {
  const model = await root.getDirectoryHandle(folder).catch(() => undefined);
  if (!model) return true; // another tab was faster
  const locks = [];
  try {
    for await (const part of model.keys()) {
      const lock = await tryLock(`webgguf:${folder}/${part}`);
      if (!lock) return false;
      locks.push(lock);
    }
    await root.removeEntry(folder, { recursive: true });
    return true;
  } catch {
    return false; // a tab reads it
  } finally {
    for (const lock of locks) lock.release();
  }
}
