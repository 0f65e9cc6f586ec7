// The suite `style` of `npm test`: formatters and linters find nothing, and no line is too wide. By itself:
// `node tools/style.mjs`.

import fs from 'node:fs';
import path from 'node:path';
import { ask, filesUnder, isMain, programIn, ROOT, run, runMain } from './common.mjs';
import { findToolchain, hasCargoCommand, rustEnv, TARGET } from './toolchain.mjs';

const WIDTH = 120;
const MEASURED = /\.(rs|wgsl|js|mjs|ts|css|html|md|toml)$/;
/** Written by programs. */
const FOREIGN = /(^|\/)fixtures\//;

const CLIPPY = ['clippy', '--quiet', '--all-targets', '--features', 'harness,tensors'];
const CHECKS = [
  { name: 'width', work: width },
  { name: 'biome ci', work: biome },
  { name: 'cargo fmt', work: rustfmt },
  { name: 'clippy', work: () => cargo('clippy', [...CLIPPY, '--', '-D', 'warnings']) },
  {
    name: `clippy for ${TARGET}`,
    work: () => cargo('clippy', [...CLIPPY, '--target', TARGET, '--', '-D', 'warnings']),
  },
];

/** Runs all checks; each counts as one test. */
export async function style() {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, work } of CHECKS) {
    const { outcome, why } = await work();
    counts[outcome] += 1;
    console.log(`${outcome} ${name}${why ? `: ${why}` : ''}`);
  }
  return counts;
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

function width() {
  const listed = ask('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
  if (listed === null) return { outcome: 'skipped', why: 'git does not list the files here' };
  const files = listed
    .split('\n')
    .filter((file) => MEASURED.test(file) && !FOREIGN.test(file) && fs.existsSync(path.join(ROOT, file)));
  const wide = files.flatMap((file) => wideLines(file));
  for (const line of wide) console.log(line);
  return result(wide.length === 0, `${wide.length} lines of ${files.length} files have more than ${WIDTH} characters`);
}

/** What cannot be broken: rows of tables in Markdown, and addresses. */
const UNBREAKABLE = /^\||\]\(http|data:image|https?:\S{80}/;

/** Lines wider than WIDTH that can be broken. */
function wideLines(file) {
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
  return text.split('\n').flatMap((line, i) => {
    const length = [...line].length;
    return length > WIDTH && !UNBREAKABLE.test(line) ? [`${file}:${i + 1}: ${length} characters`] : [];
  });
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    if ((await style()).failed > 0) process.exitCode = 1;
  });
}
