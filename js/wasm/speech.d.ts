/**
 * The part of the WebAssembly that vocoders need beside `encoders.js`: `tools/wasm_part.mjs` writes it.
 */

/** A WebAssembly module, compressed (`deflate-raw`), as base64. */
export const speech: string;
