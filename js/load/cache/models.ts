/**
 * The models that are stored: each a folder with a folder for each of its files.
 */
import { allStates, hasStorage, openRoot } from './folder.js';
import { type FileState, sum } from './state.js';

/** A model in the cache. */
export interface CachedModel {
  /**
   * What it is called: its URL, or the `cacheKey` that it was loaded with; for one that cannot be read any more, that
   * of its folder. For `has` and `delete`.
   */
  readonly key: string;
  /** The URLs of its files; query parameters that only sign them are left out. */
  readonly urls: readonly string[];
  /** Bytes that are stored. */
  readonly bytes: number;
  /** Bytes of the whole model, as far as its files are known. */
  readonly size: number;
  /** Whether it loads without a request. Otherwise a load goes on where the last one stopped. */
  readonly complete: boolean;
  /** When it was loaded last. */
  readonly lastUsed: Date;
}

/** A model, and the name of its folder. @internal */
export interface StoredModel {
  readonly folder: string;
  readonly model: CachedModel;
  readonly aliases: readonly string[];
}

/** All stored models; none where nothing can be stored. @internal */
export async function storedModels(): Promise<StoredModel[]> {
  if (!hasStorage()) return [];
  const models: StoredModel[] = [];
  for (const [folder, states] of await allStates(await openRoot())) {
    const sound = states.filter((state) => state !== undefined).sort((a, b) => a.part - b.part);
    const [first] = sound;
    if (states.length === 0) continue;
    const model = first ? describe(first, sound) : broken(folder);
    models.push({ folder, model, aliases: first?.aliases ?? [] });
  }
  return models;
}

/** What a crash or another version has left: nothing that can be used, but it can be deleted. */
function broken(folder: string): CachedModel {
  return { key: folder, urls: [], bytes: 0, size: 0, complete: false, lastUsed: new Date(0) };
}

function describe({ key, parts }: FileState, states: FileState[]): CachedModel {
  return {
    key,
    urls: states.map(({ url }) => url),
    bytes: sum(states.flatMap(({ segments }) => segments)),
    size: sum(states.map(({ size, segments }) => size ?? sum(segments))),
    complete: states.length === parts && states.every(({ complete }) => complete),
    lastUsed: new Date(Math.max(...states.map(({ used }) => used))),
  };
}

/** A whole model that was loaded by another name; `undefined` where there is none. @internal */
export async function storedAs(alias: string): Promise<CachedModel | undefined> {
  const models = await storedModels().catch(() => []);
  return models.find(({ model, aliases }) => model.complete && aliases.includes(alias))?.model;
}
