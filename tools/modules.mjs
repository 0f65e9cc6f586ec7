// Compiles the modules of WebAssembly, and makes each small: cargo, wasm-bindgen, wasm-opt.

import fs from 'node:fs';
import path from 'node:path';
import { findOrBuildBindgen } from './bindgen.mjs';
import { must, programIn, ROOT } from './common.mjs';
import { remapFlags, rustEnv, TARGET } from './toolchain.mjs';
import { withoutExports, withShortImports } from './wasm_names.mjs';
import { namedInOrder } from './wasm_order.mjs';
import { split } from './wasm_split.mjs';

/** For Cargo: without the crate's face for Rust, which pages do not use. */
export const BARE = ['--no-default-features'];
const PKG = path.join(ROOT, 'pkg');
/** The crate for grammars, which has dependencies of its own, and what is made of it. */
const GRAMMAR = path.join(ROOT, 'grammar');
const GRAMMAR_PKG = path.join(PKG, 'grammar');
/** The crate for images, without dependencies but the border to JavaScript. */
const MEDIA = path.join(ROOT, 'media');
const MEDIA_PKG = path.join(PKG, 'media');
/** The WebAssembly of www/kernels.html: the crate with its kernel cases. */
const HARNESS = path.join(ROOT, 'www', 'harness');

const ENGINE = ['src', 'shaders', 'build.rs', 'Cargo.toml', 'Cargo.lock'];
/** What each module is compiled from. */
export const SOURCES = {
  engine: [...ENGINE, '.cargo/config.toml'],
  harness: ENGINE,
  grammar: ['grammar/src', 'grammar/Cargo.toml', 'grammar/Cargo.lock'],
  media: ['media/src', 'media/Cargo.toml', 'media/Cargo.lock'],
};
/**
 * Parts of the engine that few pages need, by name: `tools/wasm_split.mjs` takes them out in this order, and
 * `js/wasm/link-part.ts` links `dist/wasm/NAME.js`. What belongs to a part is told by the paths of its functions.
 */
export const PARTS = {
  // For pages with a `Gpu` or with training. What frees a tensor stays, since it also runs where there is none.
  tensors: /^<?webgguf::(tensor|web::tensor|web::training|gpu::tensors)::|^tensorengine_/,
  // For pages that load a model of a rare family, one with a block that drafts, an encoder of sounds or one of few of
  // images: the programs of `families/rare/`, and what runs the operations that `has_rare_code` in src/model/rare.rs
  // names.
  families: new RegExp(
    [
      '^<?webgguf::model::families::rare::',
      '^webgguf::forward::recurrent::<impl webgguf::forward::Lowering>::',
      '^webgguf::cpu::recurrent::',
      '^webgguf::(cpu|forward)::streams::.*>::streams(::|$)',
      '^webgguf::(cpu::switch|forward::streams)::.*>::switch(::|$)',
      '^<?webgguf::kernels::(wkv|wkv_output|ssm_scan|lerp|streams|switch|conv_causal)::',
      '^<?webgguf::kernels::delta_net::(delta_net|reference)::',
      '^<?webgguf::model::drafter::',
      '^webgguf::gguf::.*::put_behind(::|$)',
      '^<?webgguf::(forward::(next|whole)|runtime::passes::whole|kernels::carry_row)::',
      '^webgguf::forward::activations::place_behind(::|$)',
    ].join('|'),
  ),
  // For pages that load a vocoder, beside the part of encoders: the states of its model, and what no other program
  // computes.
  speech: new RegExp(
    [
      '^webgguf::model::families::encoders::(pocket|vocos|lfm_speech)::',
      '^webgguf::(runtime::run::speaking|model::config::parts::.*::of_part|model::config::convolutions::transposed)',
      '^webgguf::kernels::spread::reference::divide_by_deviation',
      String.raw`^compiler_builtins(\[\w+\])?::math::libm_math::(sinf|cosf)::`,
    ].join('|'),
  ),
  // For pages that load or inspect an encoder or a vocoder. Kernels that models have, too, stay.
  encoders: new RegExp(
    [
      '^<?webgguf::(model::families::encoders::(?!known)|web::encoder::)',
      '^<?webgguf::kernels::(attention_(blocks|near|far|grid)|conv_grid|mix|turn)::',
      '^webgguf::model::.*::EncoderInput(>?)::',
      '^<?webgguf::model::cells::',
      '^<?webgguf::model::config::encoder(_lists)?::',
      '^webgguf::forward::encoder::.*>::(encoder|cells|attend_by_distance|of_queries)::',
      '^webgguf::forward::encoder::Tables::alloc::',
      '^webgguf::cpu::encode::.*>::(of_encoder|attend_by_distance|attend_grid|attend_rows|project|convolve)::',
      '^webgguf::cpu::encode::cells',
      '^webgguf::runtime::passes::batch::(image|begin_image|write_repeats|write_turns)::',
      '^webgguf::(cpu::embed::carry|runtime::run::hearing)',
      '^webgguf::kernels::spread::reference::shares',
      '^wasmencoder_',
    ].join('|'),
  ),
};
/** Parts that are linked with another one: functions that both use, and nothing else, lie in the other one. */
const BESIDE = { speech: 'encoders' };
/** The WebAssembly of a part. */
export const partFile = (name) => `pkg/webgguf_${name}.wasm`;
const PART_FILES = Object.keys(PARTS).map(partFile);
/** What the build of each module writes. */
export const OUTPUTS = {
  engine: ['pkg/webgguf.js', 'pkg/webgguf_bg.wasm', 'pkg/snippets', ...PART_FILES],
  harness: ['www/harness'],
  grammar: ['pkg/grammar'],
  media: ['pkg/media'],
};
/** What makes a module of what the compiler gives, and with which flags. */
export const MODULE_TOOLS = [
  ...['modules', 'wasm_names', 'wasm_order', 'wasm_sections', 'wasm_split'].map((name) => `tools/${name}.mjs`),
  'package-lock.json',
];

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

/**
 * The library as the tests in the browser have it, with the features that development dependencies add: so it is
 * compiled once for both.
 */
export async function buildHarnessWasm(toolchain) {
  const cargoArgs = ['test', '--no-run', '--locked', '--target', TARGET, '--test', 'kernels'];
  await compile(toolchain, cargoArgs, { env: rustEnv(toolchain.bin) });
  const built = path.join(ROOT, 'target', TARGET, 'debug', 'deps', 'webgguf.wasm');
  fs.rmSync(HARNESS, { recursive: true, force: true });
  await bindgen(toolchain, ['--target', 'web', '--out-dir', HARNESS, '--no-typescript', built]);
}

/** llguidance, small rather than fast: it runs for a fraction of a millisecond per token. */
export async function buildGrammar(toolchain) {
  const target = path.join(ROOT, 'target', 'grammar');
  await compileRelease(toolchain, GRAMMAR, target, await remapped(toolchain, GRAMMAR));
  const built = path.join(target, TARGET, 'release', 'webgguf_grammar.wasm');
  fs.rmSync(GRAMMAR_PKG, { recursive: true, force: true });
  await bind(toolchain, built, GRAMMAR_PKG);
  const module = path.join(GRAMMAR_PKG, 'webgguf_grammar_bg.wasm');
  fs.writeFileSync(module, withoutExports(fs.readFileSync(module), /^llg_/));
  await optimise(module);
}

export async function buildMedia(toolchain) {
  const target = path.join(ROOT, 'target', 'media');
  // In place of those in .cargo/config.toml. Less inlining and unrolling saves 2.5 KB; pictures take as long to
  // prepare, and resampling a sound some 6 % longer.
  const flags = ['-Ctarget-feature=+simd128', '-Cllvm-args=-inline-threshold=5 -unroll-runtime=false'];
  await compileRelease(toolchain, MEDIA, target, [...(await remapped(toolchain, MEDIA)), ...flags]);
  fs.rmSync(MEDIA_PKG, { recursive: true, force: true });
  await bind(toolchain, path.join(target, TARGET, 'release', 'webgguf_media.wasm'), MEDIA_PKG);
  await optimise(path.join(MEDIA_PKG, 'webgguf_media_bg.wasm'));
}

export async function buildWasm(toolchain) {
  // Beside those in .cargo/config.toml. Vectorising no loops saves 16 KB, and the CPU path is as fast: its hot loops
  // are written with the vectors of src/simd.rs. Tests are compiled without: their references take half the time then.
  const small = ['-Cno-vectorize-loops', '-Cno-vectorize-slp'];
  const flags = `target.${TARGET}.rustflags=${JSON.stringify([...(await remapped(toolchain, ROOT)), ...small])}`;
  const cargoArgs = ['build', '--release', '--locked', ...BARE, '--target', TARGET, '--lib', '--config', flags];
  await compile(toolchain, cargoArgs, { env: rustEnv(toolchain.bin) });
  for (const file of OUTPUTS.engine) fs.rmSync(path.join(ROOT, file), { recursive: true, force: true });
  await bind(toolchain, BUILT, PKG);
  const module = path.join(PKG, 'webgguf_bg.wasm');
  await wasmOpt(module, '-g', ...PASSES);
  await splitParts(module);
  await Promise.all([module, ...PART_FILES.map((part) => path.join(ROOT, part))].map(optimise));
}

/** Moves functions of the engine to its parts. */
async function splitParts(module) {
  const text = `${module}.wat`;
  await binaryen('wasm-dis', module, '-o', text);
  let rest = fs.readFileSync(text, 'utf8');
  const assemble = async (content, file) => {
    fs.writeFileSync(text, content);
    await binaryen('wasm-as', text, '-o', file);
  };
  const lent = {};
  for (const [name, paths] of Object.entries(PARTS)) {
    const made = split(rest, (of) => paths.test(of), lent[name]);
    if (name in BESIDE) lent[BESIDE[name]] = made.added;
    await assemble(made.part, path.join(ROOT, partFile(name)));
    rest = made.rest;
  }
  await assemble(rest, module);
  fs.rmSync(text);
}

/** Writes wasm-bindgen's JavaScript, minified, and its module, without long names. */
async function bind(toolchain, built, folder) {
  await bindgen(toolchain, [...GLUE, '--out-dir', folder, built]);
  const name = path.join(folder, path.basename(built, '.wasm'));
  const [module, script] = withShortImports(fs.readFileSync(`${name}_bg.wasm`), fs.readFileSync(`${name}.js`, 'utf8'));
  fs.writeFileSync(`${name}_bg.wasm`, module);
  const { transform } = await import('esbuild'); // not there before the first `npm ci`
  fs.writeFileSync(`${name}.js`, (await transform(script, { minify: true, format: 'esm' })).code);
}

// -O3 and -Oz make 3 % more of the engine after gzip, and the CPU path is no faster. A second time saves 0.2 %.
const PASSES = ['-O1', '--rse', '--reorder-locals'];

/** Makes a module smaller, then puts its functions in an order that compresses well (5 % of the engine). */
async function optimise(module) {
  await wasmOpt(module, ...PASSES);
  fs.writeFileSync(module, namedInOrder(fs.readFileSync(module)));
  await wasmOpt(module, '--reorder-functions-by-name', ...PASSES);
}

async function wasmOpt(module, ...passes) {
  const smaller = `${module}.smaller`;
  await binaryen('wasm-opt', ...passes, module, '-o', smaller);
  fs.renameSync(smaller, module);
}

/** Runs a program of Binaryen. */
async function binaryen(name, ...args) {
  const program = path.join(ROOT, 'node_modules', 'binaryen', 'bin', name);
  const features = WASM_FEATURES.map((feature) => `--enable-${feature}`);
  await must(process.execPath, [program, ...features, ...args], { quiet: true });
}

async function bindgen(toolchain, args) {
  await must(await findOrBuildBindgen(toolchain), args, { quiet: true });
}

/** The flags that name folders of crates: these must be there. */
async function remapped({ bin }, cwd) {
  await must(programIn(bin, 'cargo'), ['fetch', '--locked', '--target', TARGET], {
    cwd,
    env: rustEnv(bin),
    quiet: true,
  });
  return remapFlags();
}

/** Compiles a crate of its own, with flags in place of those in .cargo/config.toml. */
function compileRelease(toolchain, cwd, target, flags) {
  const own = { CARGO_TARGET_DIR: target, CARGO_ENCODED_RUSTFLAGS: flags.join('\x1f') };
  const args = ['build', '--release', '--locked', '--target', TARGET];
  return compile(toolchain, args, { cwd, env: { ...rustEnv(toolchain.bin), ...own } });
}

/** Runs cargo, and shows what it warns of. */
async function compile({ bin }, args, options) {
  const output = await must(programIn(bin, 'cargo'), args, { ...options, quiet: true });
  if (/^warning/m.test(output)) console.log(output.trimEnd());
}
