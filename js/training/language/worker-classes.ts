/**
 * In the place of `wasm/instance.js` where training runs in a worker: the WebAssembly that the worker has started.
 */
import type { WasmClasses } from '../../wasm/instance.js';

export type { WasmClasses } from '../../wasm/instance.js';

let shared: WasmClasses | undefined;

/** Says which classes {@link wasmClasses} gives. */
export function shareClasses(classes: WasmClasses): void {
  shared = classes;
}

/** The classes that Rust exports, ready to use. */
export async function wasmClasses(): Promise<WasmClasses> {
  return shared as WasmClasses;
}
