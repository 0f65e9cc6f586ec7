/**
 * What the WebAssembly of pages lacks and asks for when a model needs it, as `tools/shaders.mjs` writes it.
 */

/** The files of `shaders/rare/`, each behind a line `#file NAME`. */
export const rareShaders: string;
/** The codes of the grids of IQ1 to IQ3 (`src/formats/grids/`), one after the other, as base64. */
export const grids: string;
