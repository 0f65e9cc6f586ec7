// Builds the package: Rust to WebAssembly, its glue, TypeScript; everything a user installs ends up in dist/.
//
//   src, shaders ──cargo──► .wasm ──wasm-bindgen, wasm-opt──► pkg/;  grammar/src ──the same──► pkg/grammar/
//   media/src ──the same──► pkg/media/
//   pkg/ ──copy──► dist/wasm/;  pkg/grammar/ ──copy──► dist/grammar/;  pkg/media/ ──copy──► dist/media/
//    js/*.ts ──tsc──► dist/*.js, dist/*.d.ts;  js/**/*.d.ts ──copy──► dist/
//   dist/training/ ──esbuild──► dist/training/language/training-worker.js
//   shaders/compute/ ──shaders.mjs──► dist/compute/shaders.js; shaders/tensor/ ──the same──► dist/tensor/shaders.js
//   shaders/rare/, src/formats/grids/ ──the same──► dist/wasm/rare.js
//   the crates' licences ──licences.mjs──► THIRD-PARTY.txt
//
// A stage whose inputs have not changed is skipped. `--quiet` prints failures only.

import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import {
  CACHE,
  filesUnder,
  hashOf,
  isMain,
  must,
  programIn,
  readJson,
  ROOT,
  runMain,
  seconds,
  Stop,
  withLock,
  writeJson,
} from './common.mjs';
import { writeLicences } from './licences.mjs';
import { writeShaders } from './shaders.mjs';
import { withoutExports, withShortImports } from './wasm_names.mjs';
import { namedInOrder } from './wasm_order.mjs';
import { findBindgen, findToolchain, remapFlags, rustEnv, TARGET } from './toolchain.mjs';

export const DIST = path.join(ROOT, 'dist');
/** For Cargo: without the crate's face for Rust, which pages do not use. */
export const BARE = ['--no-default-features'];
/**
 * Bytes of WebAssembly and JavaScript after gzip that `webgguf` may have: what a page imports or fetches until a first
 * answer in a chat, without the WebAssembly for grammars and what is for images.
 */
export const SIZE_BUDGET = 800_000;
/**
 * The same of the WebAssembly for grammars, which is fetched when it is first needed: 450,000 bytes after `gzip -9`.
 * The zlib of Node.js makes 3.7 % more of this file.
 */
export const GRAMMAR_BUDGET = 466_600;
/** The same of what a page with images loads more: WebAssembly and JavaScript. */
export const MEDIA_BUDGET = 60_000;
/** The same of what the entries `webgguf/compute` and `webgguf/training` add, without the training of models. */
export const ARITHMETIC_BUDGET = 80_000;
/** The same of what trains models, in the page and in a worker, which has shaders and tensors of its own. */
export const LEARNING_BUDGET = 120_000;

const PKG = path.join(ROOT, 'pkg');
/** The crate for grammars, which has dependencies of its own, and what is made of it. */
const GRAMMAR = path.join(ROOT, 'grammar');
const GRAMMAR_PKG = path.join(PKG, 'grammar');
/** The crate for images, without dependencies but the border to JavaScript. */
const MEDIA = path.join(ROOT, 'media');
const MEDIA_PKG = path.join(PKG, 'media');
/** What the build of the engine makes. */
const ENGINE_FILES = ['pkg/webgguf.js', 'pkg/webgguf_bg.wasm', 'pkg/snippets'];
/** The WebAssembly of www/kernels.html: the crate with its kernel cases. */
const HARNESS = path.join(ROOT, 'www', 'harness');
/** Libraries of the demo page, which are not in the package: name in www/vendor/, and where npm puts the file. */
const VENDOR = path.join(ROOT, 'www', 'vendor');
const LIBRARIES = { 'marked.js': 'marked/lib/marked.esm.js', 'dompurify.js': 'dompurify/dist/purify.es.mjs' };
/** What the engine is compiled from. */
const ENGINE_SOURCES = ['src', 'shaders', 'build.rs', 'Cargo.toml', 'Cargo.lock', '.cargo/config.toml'];
/** What changes a module after the compiler. */
const WASM_TOOLS = ['tools/wasm_names.mjs', 'tools/wasm_order.mjs', 'tools/wasm_sections.mjs'];
const STAMPS = path.join(CACHE, 'build.json');
const BUILT = path.join(ROOT, 'target', TARGET, 'release', 'webgguf.wasm');

// The types are js/wasm/*.d.ts and js/grammar/*.d.ts; js/wasm-file.ts alone says where the files are, so that bundlers
// see one address of each.
const GLUE = ['--target', 'web', '--no-typescript', '--omit-default-module-path', '--remove-producers-section'];

// What rustc emits for wasm32 by default: wasm-opt must be told, or it refuses the module.
const WASM_FEATURES = [
  'bulk-memory',
  'multivalue',
  'mutable-globals',
  'nontrapping-float-to-int',
  'reference-types',
  'sign-ext',
  'simd',
];

/** Copies the libraries of the demo page to where it loads them from. */
export function copyLibraries() {
  for (const [name, source] of Object.entries(LIBRARIES)) {
    const text = fs.readFileSync(path.join(ROOT, 'node_modules', source), 'utf8');
    fs.mkdirSync(VENDOR, { recursive: true });
    // The source maps are not copied.
    const wanted = text.replace(/^\/\/# sourceMappingURL=.*$/m, '');
    const file = path.join(VENDOR, name);
    // Another page may be reading it.
    if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== wanted) fs.writeFileSync(file, wanted);
  }
}

/** Brings pkg/, dist/ and www/vendor/ up to date. Expects what prepare.mjs prepares. */
export async function build({ quiet = false } = {}) {
  const say = quiet ? () => {} : console.log;
  copyLibraries();
  await withLock('build', async () => {
    const toolchain = await findToolchain();
    if (!toolchain) throw new Stop(`no Rust toolchain builds for ${TARGET}`, 'run `npm run setup`');
    const stamps = readJson(STAMPS, {});
    const wasm = hashOf(
      filesUnder(...ENGINE_SOURCES, 'tools/build.mjs', ...WASM_TOOLS, 'package-lock.json'),
      toolchain.version,
      ...WASM_FEATURES,
    );
    await stage('WebAssembly', wasm, stamps, ENGINE_FILES, () => buildWasm(toolchain), say);
    const grammar = hashOf(
      filesUnder('grammar/src', 'grammar/Cargo.toml', 'grammar/Cargo.lock', 'tools/build.mjs', ...WASM_TOOLS),
      toolchain.version,
    );
    await stage('grammars', grammar, stamps, ['pkg/grammar'], () => buildGrammar(toolchain), say);
    const media = hashOf(
      filesUnder('media/src', 'media/Cargo.toml', 'media/Cargo.lock', 'tools/build.mjs', ...WASM_TOOLS),
      toolchain.version,
    );
    await stage('images', media, stamps, ['pkg/media'], () => buildMedia(toolchain), say);
    const scripts = filesUnder('js', 'tools/react.d.ts', 'tools/shaders.mjs', 'tsconfig.json', 'package-lock.json');
    const script = hashOf(scripts, wasm, grammar, media);
    const manifests = ['', 'grammar/', 'media/'].flatMap((folder) => [`${folder}Cargo.toml`, `${folder}Cargo.lock`]);
    const licences = hashOf([...manifests, 'tools/licences.mjs'], toolchain.version);
    await stage('licences', licences, stamps, ['THIRD-PARTY.txt'], () => writeLicences(toolchain), say);
    await stage('JavaScript', script, stamps, ['dist'], buildScript, say);
  });
  say(describeSizes(sizes()));
}

/** Brings www/harness/ up to date: what the tests in the browser link, less optimised than the package. */
export async function buildHarness({ quiet = false } = {}) {
  await withLock('build', async () => {
    const toolchain = await findToolchain();
    if (!toolchain) throw new Stop(`no Rust toolchain builds for ${TARGET}`, 'run `npm run setup`');
    const inputs = hashOf(
      filesUnder('src', 'shaders', 'build.rs', 'Cargo.toml', 'Cargo.lock', 'tools/build.mjs'),
      toolchain.version,
    );
    const stamps = readJson(STAMPS, {});
    await stage(
      'harness',
      inputs,
      stamps,
      ['www/harness'],
      () => buildHarnessWasm(toolchain),
      quiet ? () => {} : console.log,
    );
  });
}

/**
 * The library as the tests in the browser have it, with the features that development dependencies add: so it is
 * compiled once for both.
 */
async function buildHarnessWasm({ bin }) {
  const cargo = ['test', '--no-run', '--quiet', '--locked', '--target', TARGET, '--test', 'kernels'];
  await must(programIn(bin, 'cargo'), cargo, { env: rustEnv(bin) });
  const built = path.join(ROOT, 'target', TARGET, 'debug', 'deps', 'webgguf.wasm');
  fs.rmSync(HARNESS, { recursive: true, force: true });
  await must(bindgen(), ['--target', 'web', '--out-dir', HARNESS, '--no-typescript', built], { quiet: true });
}

/** Runs `work` unless its inputs and what it last wrote are unchanged. */
async function stage(name, inputs, stamps, outputs, work, say) {
  const old = stamps[name];
  if (old?.inputs === inputs && old.outputs === hashOf(filesUnder(...outputs))) {
    say(`${name}: up to date`);
    return;
  }
  const start = performance.now();
  await work();
  stamps[name] = { inputs, outputs: hashOf(filesUnder(...outputs)) };
  writeJson(STAMPS, stamps);
  say(`${name}: built in ${seconds(start)}`);
}

/** llguidance, small rather than fast: it runs for a fraction of a millisecond per token. */
async function buildGrammar({ bin }) {
  const target = path.join(ROOT, 'target', 'grammar');
  const env = { ...rustEnv(bin), CARGO_TARGET_DIR: target, CARGO_ENCODED_RUSTFLAGS: remapFlags().join('\x1f') };
  await must(programIn(bin, 'cargo'), ['build', '--release', '--locked', '--target', TARGET], { cwd: GRAMMAR, env });
  const built = path.join(target, TARGET, 'release', 'webgguf_grammar.wasm');
  fs.rmSync(GRAMMAR_PKG, { recursive: true, force: true });
  await bind(built, GRAMMAR_PKG);
  const module = path.join(GRAMMAR_PKG, 'webgguf_grammar_bg.wasm');
  fs.writeFileSync(module, withoutExports(fs.readFileSync(module), /^llg_/));
  await optimise(module);
}

async function buildMedia({ bin }) {
  const target = path.join(ROOT, 'target', 'media');
  // In place of those in .cargo/config.toml. Less inlining saves 2 KB, and takes no longer.
  const flags = [...remapFlags(), '-Ctarget-feature=+simd128', '-Cllvm-args=-inline-threshold=10'];
  const env = { ...rustEnv(bin), CARGO_TARGET_DIR: target, CARGO_ENCODED_RUSTFLAGS: flags.join('\x1f') };
  await must(programIn(bin, 'cargo'), ['build', '--release', '--locked', '--target', TARGET], { cwd: MEDIA, env });
  fs.rmSync(MEDIA_PKG, { recursive: true, force: true });
  await bind(path.join(target, TARGET, 'release', 'webgguf_media.wasm'), MEDIA_PKG);
  await optimise(path.join(MEDIA_PKG, 'webgguf_media_bg.wasm'));
}

async function buildWasm({ bin }) {
  const flags = `target.${TARGET}.rustflags=${JSON.stringify(remapFlags())}`;
  const cargo = ['build', '--release', '--locked', ...BARE, '--target', TARGET, '--lib', '--config', flags];
  await must(programIn(bin, 'cargo'), cargo, { env: rustEnv(bin) });
  for (const file of ENGINE_FILES) fs.rmSync(path.join(ROOT, file), { recursive: true, force: true });
  await bind(BUILT, PKG);
  await optimise(path.join(PKG, 'webgguf_bg.wasm'));
}

/** Writes wasm-bindgen's JavaScript, minified, and its module, without long names. */
async function bind(built, folder) {
  await must(bindgen(), [...GLUE, '--out-dir', folder, built], { quiet: true });
  const name = path.join(folder, path.basename(built, '.wasm'));
  const [module, script] = withShortImports(fs.readFileSync(`${name}_bg.wasm`), fs.readFileSync(`${name}.js`, 'utf8'));
  fs.writeFileSync(`${name}_bg.wasm`, module);
  const { transform } = await import('esbuild'); // not there before the first `npm ci`
  fs.writeFileSync(`${name}.js`, (await transform(script, { minify: true, format: 'esm' })).code);
}

/** Makes a module smaller, then puts its functions in an order that compresses well (5 % of the engine). */
async function optimise(module) {
  // -O3 and -Oz make 3 % more of the engine after gzip, and the CPU path is no faster. A second time saves 0.2 %.
  const passes = ['-O1', '--rse', '--reorder-locals'];
  await wasmOpt(module, ...passes);
  fs.writeFileSync(module, namedInOrder(fs.readFileSync(module)));
  await wasmOpt(module, '--reorder-functions-by-name', ...passes);
}

async function wasmOpt(module, ...passes) {
  const opt = path.join(ROOT, 'node_modules', 'binaryen', 'bin', 'wasm-opt');
  const features = WASM_FEATURES.map((feature) => `--enable-${feature}`);
  const smaller = `${module}.smaller`;
  await must(process.execPath, [opt, ...passes, ...features, module, '-o', smaller], { quiet: true });
  fs.renameSync(smaller, module);
}

function bindgen() {
  const found = findBindgen();
  if (!found) throw new Stop('wasm-bindgen was not found in the version that Cargo.lock holds', 'run `npm run setup`');
  return found;
}

async function buildScript() {
  const sources = filesUnder('js');
  if (sources.length === 0) throw new Stop('js/ holds no TypeScript', 'check the clone');
  fs.rmSync(DIST, { recursive: true, force: true });
  for (const file of ENGINE_FILES) {
    fs.cpSync(path.join(ROOT, file), path.join(DIST, 'wasm', path.relative('pkg', file)), { recursive: true });
  }
  fs.cpSync(GRAMMAR_PKG, path.join(DIST, 'grammar'), { recursive: true });
  fs.cpSync(MEDIA_PKG, path.join(DIST, 'media'), { recursive: true });
  await must(process.execPath, [path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']);
  await minify();
  writeShaders();
  await bundleTraining();
  // tsc leaves hand-written declarations where they are.
  for (const file of sources.filter((name) => name.endsWith('.d.ts'))) {
    const place = path.join(DIST, path.relative('js', file));
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.copyFileSync(path.join(ROOT, file), place);
  }
}

/**
 * Makes one file of what trains in a worker, since a bundler may have made a file of the worker's script that imports
 * nothing. The WebAssembly is the worker's.
 */
async function bundleTraining() {
  const { build: bundle } = await import('esbuild');
  const folder = path.join(DIST, 'training', 'language');
  const classes = path.join(folder, 'worker-classes.js');
  const shared = {
    name: 'shared',
    // The worker's WebAssembly has what rare.js gives, if the model needs it.
    setup: ({ onResolve }) => onResolve({ filter: /\/wasm\/(instance|rare)\.js$/ }, () => ({ path: classes })),
  };
  await bundle({
    ...{ entryPoints: [path.join(folder, 'in-worker.js')], outfile: path.join(folder, 'training-worker.js') },
    ...{ bundle: true, minify: true, format: 'esm', target: 'es2022', logLevel: 'warning', plugins: [shared] },
  });
  for (const name of ['in-worker.js', 'worker-classes.js']) fs.rmSync(path.join(folder, name));
}

/** Makes the code in dist/ small. Its declarations keep their comments. */
async function minify() {
  const { transform } = await import('esbuild');
  for (const file of filesUnder('dist').filter((name) => name.endsWith('.js') && !isGlue(name))) {
    const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
    const { code } = await transform(text, { minify: true, format: 'esm', target: 'es2022' });
    fs.writeFileSync(path.join(ROOT, file), withLeftAlone(code));
  }
}

/**
 * The code with the comments that esbuild takes away, by which bundlers leave an `import()` alone whose address is
 * known when it runs.
 */
const withLeftAlone = (code) =>
  code.replaceAll(/\bimport\((?=\w+\))/g, 'import(/* @vite-ignore *//* webpackIgnore: true */');

/** Whether wasm-bindgen has written a file: it is small already. */
const isGlue = (file) => /^dist\/(wasm|grammar|media)\/webgguf/.test(file);

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
const FIRST_ANSWER = ['dist/index.js', 'dist/engine/chat-text.js'];

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
export const isForMedia = ({ file }) => /^dist\/media\//.test(file);

/** Whether a file is loaded only where a model is trained. */
export const isForLearning = ({ file }) => file.startsWith('dist/training/language/');

/** Whether only `webgguf/compute` or `webgguf/training` load a file. */
export const isForArithmetic = (item) => /^dist\/(compute|training)\//.test(item.file) && !isForLearning(item);

export function describeSizes(list) {
  const { inCore, others } = core(list);
  const total = (file, some) => ({ file, raw: sum(some, 'raw'), gzip: sum(some, 'gzip') });
  const row = ({ file, raw, gzip }) => `${file.padEnd(32)}${format(raw)} B  ${format(gzip)} B gzipped`;
  const totals = [total('core, without grammars', inCore), total('other entries, import()', others)];
  return [...list, ...totals].map(row).join('\n');
}

export const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);
const format = (count) => count.toLocaleString('en').padStart(11);

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const { prepare } = await import('./prepare.mjs');
    const quiet = process.argv.includes('--quiet');
    await prepare({ quiet: true });
    await (process.argv.includes('--harness') ? buildHarness({ quiet }) : build({ quiet }));
  });
}
