/** `webgguf/webgguf_grammar_bg.wasm`, as bundlers import a file: its URL, for `init({ grammarWasm })`. */
declare const url: string;
export default url;
