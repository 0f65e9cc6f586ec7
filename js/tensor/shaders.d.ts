/**
 * The shaders of operations that no model uses, as `tools/shaders.mjs` writes them: the first `Gpu` of a page fetches
 * this module and gives the text to the WebAssembly.
 */

/** WGSL files, each behind a line `#file NAME`. */
export const tensorShaders: string;
