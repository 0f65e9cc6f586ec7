/**
 * `webgguf/webgguf_bg.wasm`, as bundlers import a file: its URL, for `init({ wasm })`. Vite wants `?url` behind the
 * name, esbuild `--loader:.wasm=file`, webpack a rule of type `asset/resource`.
 */
declare const url: string;
export default url;
