/**
 * What the WebAssembly of pages lacks and asks for on few devices, as `tools/shaders.mjs` writes it.
 */

/** The files of `shaders/device/`, each behind a line `#file NAME`. */
export const deviceShaders: string;
