// The WebAssembly as a file that esbuild copies and names: --loader:.wasm=file

import wasm from 'webgguf/webgguf_bg.wasm';
import { writeStory } from './story.js';

writeStory(new URL(wasm, import.meta.url));
