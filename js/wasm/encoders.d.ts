/**
 * The part of the WebAssembly that encoders of images and sounds, and vocoders, need: `tools/wasm_part.mjs` writes it.
 */

/** A WebAssembly module, compressed (`deflate-raw`), as base64. */
export const encoders: string;
