// The suite `style` of `npm test`: formatters and linters find nothing, and the texts keep to their budgets and words
// (`tools/style/`). By itself: `node tools/style.mjs`; `--texts` leaves the programs of others out and takes seconds,
// `--shrink` lowers the exceptions from the checks of texts to what is left of them.

import path from 'node:path';
import { filesUnder, isMain, programIn, ROOT, run, runMain } from './common.mjs';
import { checkTexts, shrinkExceptions } from './style/texts.mjs';
import { findToolchain, hasCargoCommand, rustEnv, TARGET } from './toolchain.mjs';

const CLIPPY = ['clippy', '--quiet', '--features', 'harness,tensors'];
/** Examples are programs for hosts. */
const IN_PAGES = ['--lib', '--tests', '--target', TARGET];
/** What is compiled without the features of tests: the crate as Rust programs have it, bare, and the one of pages. */
const WITHOUT_TESTS = [
  { name: 'the crate with its default features', args: [] },
  { name: 'the crate without features', args: ['--no-default-features'] },
  { name: 'the crate of pages', args: ['--no-default-features', '--target', TARGET] },
];
const CHECKS = [
  { name: 'biome ci', work: biome },
  { name: 'cargo fmt', work: rustfmt },
  { name: 'clippy', work: () => cargo('clippy', [...CLIPPY, '--all-targets', '--', '-D', 'warnings']) },
  {
    name: `clippy for ${TARGET}`,
    work: () => cargo('clippy', [...CLIPPY, ...IN_PAGES, '--', '-D', 'warnings']),
  },
  ...WITHOUT_TESTS.map(({ name, args }) => ({
    name: `clippy for ${name}`,
    work: () => cargo('clippy', ['clippy', '--quiet', '--lib', ...args, '--', '-D', 'warnings']),
  })),
];

/** Runs all checks, or those of texts alone; each counts as one test. */
export async function style({ textsOnly = false } = {}) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const tell = (name, { outcome, why }) => {
    counts[outcome] += 1;
    console.log(`${outcome} ${name}${why ? `: ${why}` : ''}`);
  };
  for (const { name, ...found } of texts()) tell(name, found);
  for (const { name, work } of textsOnly ? [] : CHECKS) tell(name, await work());
  return counts;
}

/** The checks of texts, whose faults are printed. */
function texts() {
  const checks = checkTexts();
  if (!checks) return [{ name: 'texts', outcome: 'skipped', why: 'git does not list the files here' }];
  return checks.map(({ name, faults, files }) => {
    for (const line of faults) console.log(line);
    return { name, ...result(faults.length === 0, faults.length === 0 ? `${files} files` : undefined) };
  });
}

const result = (passed, why) => ({ outcome: passed ? 'passed' : 'failed', why });

async function cargo(command, args) {
  const { bin } = await findToolchain();
  const why = `the toolchain in ${bin} has no cargo ${command}`;
  if (!hasCargoCommand(bin, command)) return { outcome: 'skipped', why };
  const { code } = await run(programIn(bin, 'cargo'), args, { env: rustEnv(bin) });
  return result(code === 0);
}

/** `cargo fmt` finds no modules that a macro declares: those of `for_each_kernel!` are told to it. */
async function rustfmt() {
  const kernels = ['src/kernels', 'src/compute'].flatMap((folder) => filesUnder(folder));
  return cargo('fmt', ['fmt', '--check', '--', ...kernels.map((file) => path.join(ROOT, file))]);
}

async function biome() {
  const program = path.join(ROOT, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const { code } = await run(process.execPath, [
    program,
    'ci',
    '--colors=off',
    '--error-on-warnings',
    '--max-diagnostics=50',
    '.',
  ]);
  return result(code === 0);
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    if (process.argv.includes('--shrink')) shrinkExceptions();
    const counts = await style({ textsOnly: process.argv.some((name) => name === '--texts' || name === '--shrink') });
    if (counts.failed > 0) process.exitCode = 1;
  });
}
