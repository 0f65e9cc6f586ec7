/** `webgguf/webgguf_media_bg.wasm`, as bundlers import a file: its URL, for `init({ mediaWasm })`. */
declare const url: string;
export default url;
