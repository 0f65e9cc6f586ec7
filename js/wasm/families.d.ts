/**
 * The part of the WebAssembly that models of rare families need, as `tools/wasm_part.mjs` writes it.
 */

/** A WebAssembly module, compressed (`deflate-raw`), as base64. */
export const families: string;
