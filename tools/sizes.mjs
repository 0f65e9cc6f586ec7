// How many bytes the package has, and how many it may have.

import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { filesUnder, ROOT } from './common.mjs';

/**
 * Bytes of WebAssembly and JavaScript after gzip that `webgguf` may have: what a page imports or fetches until a first
 * answer in a chat, without the WebAssembly for grammars and what is for images.
 */
export const SIZE_BUDGET = 760_000;
/**
 * The same of the WebAssembly for grammars, which is fetched when it is first needed: 450,000 bytes after `gzip -9`.
 * The zlib of Node.js makes 3.7 % more of this file.
 */
export const GRAMMAR_BUDGET = 466_600;
/**
 * The same of what a page with images loads more: WebAssembly, JavaScript, and the part of the engine that encoders
 * need (67,000), which grows with the number of encoders, and reads their headers (13,000): DeepSeek-OCR with SAM's
 * layers before CLIP's is 8,000, Gemma 3n with blocks of convolutions over grids 6,500.
 */
export const MEDIA_BUDGET = 152_000;
/** The same of what a page with a vocoder loads more: the part of the engine, and the scripts of `webgguf/voice`. */
export const SPEECH_BUDGET = 60_000;
/**
 * The same of what the entries `webgguf/compute` and `webgguf/training` add, without the training of models: scripts,
 * shaders, and the part of the WebAssembly that works on tensors (65,000).
 */
export const ARITHMETIC_BUDGET = 145_000;
/** The same of what trains models, in the page and in a worker, which has shaders, tensors and that part once more. */
export const LEARNING_BUDGET = 185_000;
/** The same of what the entry `webgguf/voice` adds. */
export const VOICE_BUDGET = 60_000;

/** Every file of the package that a page loads: `[{file, raw, gzip}]`, bytes. */
export function sizes() {
  return filesUnder('dist')
    .filter((file) => /\.(js|wasm)$/.test(file))
    .map((file) => {
      const bytes = fs.readFileSync(path.join(ROOT, file));
      return { file, raw: bytes.length, gzip: zlib.gzipSync(bytes, { level: 9 }).length };
    });
}

/**
 * The files that an entry point such as `dist/index.js` imports or fetches, itself included, but for those that a page
 * asks for with `import()`: only a page that opens a `Gpu` fetches their shaders.
 */
export function filesOf(entry) {
  const found = new Set();
  const follow = (file) => {
    const whole = path.join(ROOT, file);
    if (found.has(file) || !fs.existsSync(whole)) return;
    found.add(file);
    const text = file.endsWith('.js') ? fs.readFileSync(whole, 'utf8') : '';
    for (const [, target] of text.matchAll(/(?:\bfrom|\bimport|\bURL\()\s*['"](\.[^'"]+)['"]/g)) {
      follow(path.posix.join(path.posix.dirname(file), target));
    }
  };
  follow(entry);
  return found;
}

/** What a page loads that imports `webgguf` and gets an answer in a chat: its entry, and what templates take. */
const FIRST_ANSWER = ['dist/index.js', 'dist/engine/conversation-text.js'];

/** What of the package a page loads until that; what other entry points and `import()` add. */
export function core(list = sizes()) {
  const files = new Set(FIRST_ANSWER.flatMap((entry) => [...filesOf(entry)]));
  const isLater = (item) => isForGrammars(item) || isForMedia(item);
  const inCore = list.filter((item) => files.has(item.file) && !isLater(item));
  const others = list.filter((item) => !files.has(item.file) && !isForGrammars(item));
  return { inCore, others };
}

/** Whether a file is fetched only when a text is first to follow a grammar. */
export const isForGrammars = ({ file }) => file === 'dist/grammar/webgguf_grammar_bg.wasm';

/** Whether only a page with images loads a file. */
export const isForMedia = ({ file }) => /^dist\/(media\/|wasm\/encoders\.js)/.test(file);

/** Whether a file is loaded only where a model is trained. */
export const isForLearning = ({ file }) => file.startsWith('dist/training/language/');

/** Whether only pages with tensors load a file. */
export const isForArithmetic = (item) =>
  /^dist\/(compute|training|wasm\/tensors\.js)/.test(item.file) && !isForLearning(item);

/** Whether only `webgguf/voice`, or a transcription with times, loads a file. */
export const isForVoice = ({ file }) => file.startsWith('dist/voice/');

/** Whether only a page with a vocoder loads a file: `webgguf/voice` has microphones, players and conversations, too. */
export function isForSpeech({ file }) {
  const isOwn = file.startsWith('dist/voice/') || file === 'dist/wasm/speech.js';
  return isOwn && ['speak', 'vocoder'].some((name) => filesOf(`dist/voice/${name}.js`).has(file));
}

/** One line: what a page loads, of what it may, and where the list is. */
export function describeSizes(list = sizes()) {
  const { inCore } = core(list);
  const [first, all] = [sum(inCore, 'gzip'), sum(list, 'gzip')].map((count) => count.toLocaleString('en'));
  const budget = SIZE_BUDGET.toLocaleString('en');
  return `package: until a first answer ${first} of ${budget} bytes gzipped, all ${list.length} files ${all} (--sizes)`;
}

/** A line for each file. */
export function listSizes(list = sizes()) {
  const { inCore, others } = core(list);
  const total = (file, some) => ({ file, raw: sum(some, 'raw'), gzip: sum(some, 'gzip') });
  const row = ({ file, raw, gzip }) => `${file.padEnd(32)}${format(raw)} B  ${format(gzip)} B gzipped`;
  const totals = [total('core, without grammars', inCore), total('other entries, import()', others)];
  return [...list, ...totals].map(row).join('\n');
}

export const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);
const format = (count) => count.toLocaleString('en').padStart(11);
