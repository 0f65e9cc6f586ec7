/**
 * The part of the WebAssembly that tensors need, as `tools/wasm_part.mjs` writes it.
 */

/** A WebAssembly module, compressed (`deflate-raw`), as base64. */
export const tensors: string;
