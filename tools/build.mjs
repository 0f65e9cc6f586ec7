// Builds the package: Rust to WebAssembly, its glue, TypeScript; everything a user installs ends up in dist/.
//
//   src, shaders ──cargo──► .wasm ──wasm-bindgen, wasm-opt──► pkg/;  grammar/src ──the same──► pkg/grammar/
//   media/src ──the same──► pkg/media/
//   pkg/ ──copy──► dist/wasm/;  pkg/grammar/ ──copy──► dist/grammar/;  pkg/media/ ──copy──► dist/media/
//    js/*.ts ──tsc──► dist/*.js, dist/*.d.ts;  js/**/*.d.ts ──copy──► dist/
//   pkg/webgguf_NAME.wasm ──wasm_part.mjs──► dist/wasm/NAME.js, for each of PARTS in modules.mjs
//   dist/training/ ──esbuild──► dist/training/language/training-worker.js
//   dist/index.js, dist/worker.js ──esbuild──► dist/webgguf.min.js, dist/webgguf-worker.min.js
//   shaders/compute/ ──shaders.mjs──► dist/compute/shaders.js; shaders/tensor/ ──the same──► dist/tensor/shaders.js
//   shaders/rare/, src/formats/grids/ ──the same──► dist/wasm/rare.js; shaders/device/ ──same──► dist/wasm/device.js
//   the crates' licences ──licences.mjs──► THIRD-PARTY.txt
//
// A stage whose inputs have not changed is skipped, and the three modules are compiled beside each other. `--quiet`
// prints only what is built, to standard error, `--sizes` the size of each file, `--harness` builds what
// www/kernels.html runs.

import fs from 'node:fs';
import path from 'node:path';
import { CACHE, filesUnder, hashOf, isMain, must, readJson, ROOT, runMain, Stop, withLock } from './common.mjs';
import { writeLicences } from './licences.mjs';
import {
  buildGrammar,
  buildHarnessWasm,
  buildMedia,
  buildWasm,
  MODULE_TOOLS,
  OUTPUTS,
  PARTS,
  partFile,
  SOURCES,
} from './modules.mjs';
import { writeShaders } from './shaders.mjs';
import { describeSizes, listSizes } from './sizes.mjs';
import { isUpToDate, openStages } from './stages.mjs';
import { findToolchain, TARGET } from './toolchain.mjs';
import { partScript } from './wasm_part.mjs';

export const DIST = path.join(ROOT, 'dist');
/** Libraries of the demo page, which are not in the package: name in www/vendor/, and where npm puts the file. */
const VENDOR = path.join(ROOT, 'www', 'vendor');
const LIBRARIES = { 'marked.js': 'marked/lib/marked.esm.js', 'dompurify.js': 'dompurify/dist/purify.es.mjs' };
const STAMPS = path.join(CACHE, 'build.json');
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
  copyLibraries();
  await withLock('build', async () => {
    const toolchain = await neededToolchain();
    const stages = openStages(STAMPS, { quiet });
    const { engine, grammar, media } = moduleInputs(toolchain);
    const work = [
      // The engine takes longest, and for half of its time one core.
      stages.run('engine', engine, OUTPUTS.engine, () => buildWasm(toolchain)),
      (async () => {
        await stages.run('grammars', grammar, OUTPUTS.grammar, () => buildGrammar(toolchain));
        await stages.run('images', media, OUTPUTS.media, () => buildMedia(toolchain));
      })(),
    ];
    await allOf(work);
    const manifests = ['', 'grammar/', 'media/'].flatMap((folder) => [`${folder}Cargo.toml`, `${folder}Cargo.lock`]);
    const licences = hashOf([...manifests, 'tools/licences.mjs'], toolchain.version);
    await stages.run('licences', licences, ['THIRD-PARTY.txt'], () => writeLicences(toolchain));
    const scripts = filesUnder(
      'js',
      'tools/react.d.ts',
      'tools/vue.d.ts',
      'tools/shaders.mjs',
      'tsconfig.json',
      'package-lock.json',
    );
    const script = hashOf([...scripts, 'tools/build.mjs'], engine, grammar, media);
    await stages.run('JavaScript', script, ['dist'], () => buildScript(script));
  });
  if (!quiet) console.log(describeSizes());
}

async function neededToolchain() {
  const toolchain = await findToolchain();
  if (!toolchain) throw new Stop(`no Rust toolchain builds for ${TARGET}`, 'run `npm run setup`');
  return toolchain;
}

/** Waits for all, also where one fails: none runs on when the lock is given back. */
async function allOf(works) {
  const ends = await Promise.allSettled(works);
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
}

/** What each module is made of, as hashes. */
function moduleInputs({ version }) {
  const inputs = (name, ...more) => hashOf(filesUnder(...SOURCES[name], ...MODULE_TOOLS), version, ...more);
  return { engine: inputs('engine'), grammar: inputs('grammar'), media: inputs('media') };
}

const harnessInputs = ({ version }) => hashOf(filesUnder(...SOURCES.harness, 'tools/modules.mjs'), version);

/** Brings www/harness/ up to date: what the tests in the browser link, less optimised than the package. */
export async function buildHarness({ quiet = false } = {}) {
  await withLock('build', async () => {
    const toolchain = await neededToolchain();
    const stages = openStages(STAMPS, { quiet });
    await stages.run('harness', harnessInputs(toolchain), OUTPUTS.harness, () => buildHarnessWasm(toolchain));
  });
}

/** Whether www/harness/ is what the sources say. */
export async function isHarnessBuilt() {
  const toolchain = await findToolchain();
  return toolchain !== null && isUpToDate(readJson(STAMPS, {}).harness, harnessInputs(toolchain), OUTPUTS.harness);
}

/** `digest` of all that the package is made of, which its threads compare. */
async function buildScript(digest) {
  const sources = filesUnder('js');
  if (sources.length === 0) throw new Stop('js/ holds no TypeScript', 'check the clone');
  fs.rmSync(DIST, { recursive: true, force: true });
  const parts = Object.keys(PARTS);
  for (const file of OUTPUTS.engine.filter((name) => !parts.map(partFile).includes(name))) {
    fs.cpSync(path.join(ROOT, file), path.join(DIST, 'wasm', path.relative('pkg', file)), { recursive: true });
  }
  for (const name of ['grammar', 'media']) {
    fs.cpSync(path.join(ROOT, 'pkg', name), path.join(DIST, name), { recursive: true });
  }
  await must(process.execPath, [path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']);
  markRelease(digest);
  await minify();
  for (const name of parts) {
    const script = partScript(name, fs.readFileSync(path.join(ROOT, partFile(name))));
    fs.writeFileSync(path.join(DIST, 'wasm', `${name}.js`), script);
  }
  writeShaders();
  await bundleTraining();
  await bundleForPages();
  // tsc leaves hand-written declarations where they are.
  for (const file of sources.filter((name) => name.endsWith('.d.ts'))) {
    const place = path.join(DIST, path.relative('js', file));
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.copyFileSync(path.join(ROOT, file), place);
  }
}

/** Adds the digest to the version that scripts know themselves by, see js/release.ts. */
function markRelease(digest) {
  const file = path.join(DIST, 'release.js');
  const text = fs.readFileSync(file, 'utf8');
  const marked = text.replace(/(RELEASE = '[\d.]+)'/, `$1 ${digest.slice(0, 8)}'`);
  if (marked === text) throw new Stop(`${file} names no RELEASE`, 'markRelease in tools/build.mjs must find it');
  fs.writeFileSync(file, marked);
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
    setup: ({ onResolve }) =>
      onResolve({ filter: /\/(instance|rare)\.js$/ }, ({ path: file, resolveDir }) =>
        path.dirname(path.join(resolveDir, file)) === path.join(DIST, 'wasm') ? { path: classes } : undefined,
      ),
  };
  await bundle({
    ...{ entryPoints: [path.join(folder, 'in-worker.js')], outfile: path.join(folder, 'training-worker.js') },
    ...{ bundle: true, minify: true, format: 'esm', target: 'es2022', logLevel: 'warning', plugins: [shared] },
  });
  for (const name of ['in-worker.js', 'worker-classes.js']) fs.rmSync(path.join(folder, name));
}

/**
 * Makes one file of the entry `webgguf`, for pages without a bundler, and one of its worker. They lie in dist/ itself,
 * where the scripts are that look for the WebAssembly beside them. The part of it that tensors need stays a file.
 */
async function bundleForPages() {
  const { build: bundle } = await import('esbuild');
  const tensors = {
    name: 'tensors',
    setup: ({ onResolve }) =>
      onResolve({ filter: /\/wasm\/tensors\.js$/ }, () => ({ path: './wasm/tensors.js', external: true })),
  };
  const worker = {
    name: 'worker',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\/worker-start\.js$/ }, ({ path: file }) => {
        const contents = fs.readFileSync(file, 'utf8').replaceAll('./worker.js', './webgguf-worker.min.js');
        if (contents.includes('webgguf-worker.min.js')) return { contents };
        throw new Stop(`${file} does not name worker.js`, 'bundleForPages in tools/build.mjs must find it');
      }),
  };
  for (const [entry, name] of [
    ['index', 'webgguf.min.js'],
    ['worker', 'webgguf-worker.min.js'],
  ]) {
    const outfile = path.join(DIST, name);
    await bundle({
      ...{ entryPoints: [path.join(DIST, `${entry}.js`)], outfile, plugins: [worker, tensors] },
      ...{ bundle: true, minify: true, format: 'esm', target: 'es2022', logLevel: 'warning' },
    });
    fs.writeFileSync(outfile, withLeftAlone(fs.readFileSync(outfile, 'utf8')));
  }
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

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const { prepare } = await import('./prepare.mjs');
    const quiet = process.argv.includes('--quiet');
    await prepare({ quiet: true });
    await (process.argv.includes('--harness') ? buildHarness({ quiet }) : build({ quiet }));
    if (process.argv.includes('--sizes')) console.log(listSizes());
  });
}
