/**
 * What the prefix cache in memory holds, which is known between the calls that borrow an engine of the model.
 */
import type { PrefixCacheUse } from '../types/info.js';
import type { WasmModel as WasmHandle } from '../wasm/webgguf.js';
import type { Recovery } from './recovery.js';

const NOTHING: PrefixCacheUse = Object.freeze({ blocks: 0, tokens: 0, bytes: 0, hits: 0 });

/** @internal */
export class KeptUse {
  readonly #handles: readonly Pick<WasmHandle, 'prefixes'>[];
  readonly #recovery: Pick<Recovery, 'state'>;
  #last = NOTHING;

  /** @param handles all lanes of the model */
  constructor(handles: readonly Pick<WasmHandle, 'prefixes'>[], recovery: Pick<Recovery, 'state'>) {
    this.#handles = handles;
    this.#recovery = recovery;
  }

  /** What it holds now; where calls borrow all lanes, what it held when this was called last. */
  now(): PrefixCacheUse {
    // A device that was given away or lost has taken the texts along.
    if (this.#recovery.state !== 'ready') this.#last = NOTHING;
    else this.#last = this.#found() ?? this.#last;
    return this.#last;
  }

  #found(): PrefixCacheUse | undefined {
    const found = this.#handles.map((handle) => handle.prefixes()).find((counts) => counts !== undefined);
    if (!found) return undefined;
    const [blocks = 0, tokens = 0, hits = 0, low = 0, high = 0] = found;
    return { blocks, tokens, bytes: high * 2 ** 32 + low, hits };
  }
}
