// How `npm test` runs a program of tests: what fails is run once more, what stands still is ended, and nothing that a
// program has started is left.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, mock, test } from 'node:test';
import { cargoEnv } from '../../tools/browser-tests.mjs';
import { CACHE, ROOT } from '../../tools/common.mjs';
import { countNode } from '../../tools/counting.mjs';
import { cpuSeconds, endTree, processesOf, run } from '../../tools/processes.mjs';
import { FLAKY, runAgain, runPrograms } from '../../tools/programs.mjs';
import { hostPrograms, nodeProgram, PLAIN, programsOf } from '../../tools/suites.mjs';
import { watch } from '../../tools/watch.mjs';

// What it says of programs that are to fail would look like failures of this run.
for (const name of ['log', 'error']) mock.method(console, name, () => {});

fs.mkdirSync(CACHE, { recursive: true });
const FOLDER = fs.mkdtempSync(path.join(CACHE, 'runner-'));
after(() => fs.rmSync(FOLDER, { recursive: true }));
const onlyLinux = { skip: process.platform !== 'linux' && 'programs are found by their environment on Linux alone' };

/** Writes a file of tests; what runs it. `limits` are of the watch. */
function programOf(name, source, limits) {
  const file = path.join(FOLDER, `${name}.test.mjs`);
  const head =
    "import assert from 'node:assert/strict';\nimport fs from 'node:fs';\nimport { test } from 'node:test';\n";
  fs.writeFileSync(file, head + source);
  return nodeProgram(path.relative(ROOT, file), { quiet: true, ...limits });
}

/** A test that fails when it is run first, and then only with `always`. */
const failing = (name, always = false) => {
  const mark = JSON.stringify(path.join(FOLDER, `${name}.mark`));
  return `test('other', () => {});
    test('counts', () => {
      const isSecond = fs.existsSync(${mark});
      fs.writeFileSync(${mark}, '');
      assert.ok(isSecond && !${always}, 'not yet');
    });`;
};

const rowOf = (name, counts) => ({ name, ...counts });
const numbers = ({ passed, failed, skipped }) => [passed, failed, skipped];

test('a file that fails once is run again: it passes, and is named', async () => {
  const counts = await runPrograms([
    programOf('steady', "test('steady', () => {});"),
    programOf('once', failing('once')),
  ]);
  assert.deepEqual(numbers(counts), [2, 1, 0]);
  const { rows, flaky } = await runAgain([rowOf('page', counts)]);
  assert.deepEqual(numbers(rows[0]), [3, 0, 0]);
  assert.equal(rows[0].told.trim(), '');
  assert.deepEqual(
    flaky.map(({ name }) => name),
    ['page, once.test.mjs'],
  );
  assert.match(flaky[0].told, /counts[^]*not yet/);
});

test('a file that fails twice has failed', async () => {
  const counts = await runPrograms([programOf('twice', failing('twice', true))]);
  const { rows, flaky } = await runAgain([rowOf('page', counts)]);
  assert.deepEqual([numbers(rows[0]), flaky], [[1, 1, 0], []]);
  assert.match(rows[0].told, /not yet/);
});

test('of more flaky files than three the failures count', async () => {
  const flakyRows = async (count) => {
    const names = Array.from({ length: count }, (_, i) => `flaky-${count}-${i}`);
    const counts = await runPrograms(names.map((name) => programOf(name, failing(name))));
    return runAgain([rowOf('page', counts)]);
  };
  const three = await flakyRows(FLAKY);
  assert.deepEqual([numbers(three.rows[0]), three.flaky.length], [[6, 0, 0], 3]);
  const four = await flakyRows(FLAKY + 1);
  assert.deepEqual([numbers(four.rows[0]), four.flaky.length], [[4, 4, 0], 4]);
});

test('a file without tests, and one that ends in the middle, have failed', async () => {
  const empty = await runPrograms([programOf('empty', '')]);
  assert.deepEqual([empty.failed, empty.again.length], [1, 1]);
  const ended = await runPrograms([
    programOf(
      'ended',
      "test('a', () => {}); test('b', () => new Promise(() => setTimeout(() => process.exit(3), 1)));",
    ),
  ]);
  assert.ok(ended.failed >= 1);
});

test('a file that stands still is ended, and the tests before it count', onlyLinux, async () => {
  const started = path.join(FOLDER, 'started');
  const source = `test('a', () => {});
    test('b', () => new Promise(() => {
      setInterval(() => {}, 1e6);
      fs.writeFileSync(${JSON.stringify(started)}, '');
    }));`;
  // No look counts before the second test waits.
  const weight = () => (fs.existsSync(started) ? 1 : 0);
  const counts = await runPrograms([programOf('still', source, { everyMs: 20, still: 5, weight })]);
  assert.deepEqual(numbers(counts), [1, 1, 0]);
  assert.match(counts.told, /ended: it stood still/);
});

test('what a file leaves running is ended with it, in whatever group it is', onlyLinux, async () => {
  const file = path.join(FOLDER, 'left.pid');
  // As a browser is started: in a group of its own, with the output of the file.
  const source = `import { spawn } from 'node:child_process';
    test('leaves', () => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { detached: true, stdio: 'inherit' });
      fs.writeFileSync(${JSON.stringify(file)}, String(child.pid));
      child.unref();
    });`;
  const counts = await runPrograms([programOf('leaves', source)]);
  assert.deepEqual(numbers(counts), [1, 0, 0]);
  const state = () => {
    try {
      return fs
        .readFileSync(`/proc/${fs.readFileSync(file, 'utf8')}/stat`, 'utf8')
        .split(') ')
        .at(-1)[0];
    } catch {
      return 'gone';
    }
  };
  while (!['gone', 'Z', 'X'].includes(state())) await new Promise((resolve) => setImmediate(resolve));
});

test('after a failed test a file that does not end is ended soon', onlyLinux, async () => {
  const source = `import net from 'node:net';
    test('opens', () => {
      net.createServer().listen(0, '127.0.0.1');
      assert.fail('before it is closed');
    });`;
  const counts = await runPrograms([programOf('open', source, { everyMs: 20, stillFailed: 5, weight: () => 1 })]);
  assert.deepEqual(numbers(counts), [0, 1, 0]);
  assert.match(counts.told, /before it is closed[^]*had failed, and it did not end/);
});

// ---- the watch ------------------------------------------------------------------------------------------------------

/** Looks with these seconds of the processor; what is said last, and after how many looks. */
function looked(seconds, limits, output = '') {
  const { look } = watch({ everyMs: 1000, still: 4, stillFailed: 2, all: 20, weight: () => 1, ...limits });
  for (const [i, cpu] of seconds.entries()) {
    const why = look({ cpuSeconds: () => cpu, output });
    if (why) return [i + 1, why];
  }
  return null;
}

test('only what neither computes nor writes stands still', () => {
  assert.deepEqual(looked([1, 1, 1, 1, 1])[0], 5);
  assert.equal(looked([1, 1, 1, 2, 2, 2, 3, 3, 3]), null);
  assert.match(looked(Array(20).fill(null))[1], /more than what is/, 'a system that does not tell has the one limit');
  const { look } = watch({ still: 2, weight: () => 1 });
  for (let i = 1; i < 10; i += 1) assert.equal(look({ cpuSeconds: () => 0, output: 'x'.repeat(i) }), null);
});

test('on a busy machine a look counts less', () => {
  assert.equal(looked([1, 1, 1, 1, 1, 1, 1, 1], { weight: () => 0.25 }), null);
  assert.equal(looked(Array(18).fill(1), { weight: () => 0.25 })[0], 17);
});

test('after a failed test it is given up sooner', () => {
  const hasFailed = (output) => output.includes('✖');
  assert.match(looked([1, 1, 1], { hasFailed }, '✖ one')[1], /a test of it had failed/);
  assert.equal(looked([1, 1, 1], { hasFailed }, '✔ one'), null);
});

// ---- processes ------------------------------------------------------------------------------------------------------

test('programs of a run are found, and what they compute', onlyLinux, async () => {
  const seen = [];
  const everyMs = 10;
  const look = ({ cpuSeconds: seconds }) => {
    seen.push(seconds());
    return seen.at(-1) > 0.05 ? 'seen' : null;
  };
  const { code, output } = await run(process.execPath, ['-e', 'for (;;);'], { quiet: true, watch: { everyMs, look } });
  assert.equal(code, 124);
  assert.match(output, /ended: seen/);
  assert.deepEqual(processesOf('none'), []);
  assert.equal(cpuSeconds('none'), 0);
});

test('what a program starts without its environment is of its run, too', onlyLinux, async () => {
  const file = path.join(FOLDER, 'bare.pid');
  const source = `const child = require('node:child_process').spawn(process.execPath, ['-e', 'for (;;);'], { env: {} });
    require('node:fs').writeFileSync(${JSON.stringify(file)}, String(child.pid));`;
  let seen = 0;
  const look = ({ cpuSeconds: seconds }) => {
    // The first program waits: what is computed is the second's. A look while it is ended may find less.
    seen = Math.max(seen, seconds());
    return seen > 1.5 ? 'seen' : null;
  };
  const { code } = await run(process.execPath, ['-e', source], { quiet: true, watch: { everyMs: 10, look } });
  assert.deepEqual([code, seen > 1.5], [124, true]);
  const pid = fs.readFileSync(file, 'utf8');
  while (fs.existsSync(`/proc/${pid}`) && !/\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))) {
    await new Promise((resolve) => setImmediate(resolve));
  }
});

test('on Windows a program is ended with its children by taskkill, elsewhere with its group', () => {
  const calls = [];
  const options = { kill: (...args) => calls.push(args), command: (...args) => calls.push(args.slice(0, 2)) };
  endTree({ pid: 7 }, { ...options, platform: 'win32' });
  endTree({ pid: 7 }, { ...options, platform: 'darwin' });
  assert.deepEqual(calls, [
    ['taskkill', ['/pid', '7', '/t', '/f']],
    [-7, 'SIGKILL'],
  ]);
});

test('a program that is not there has code 127', async () => {
  assert.equal((await run(path.join(FOLDER, 'no-program'), [], { quiet: true })).code, 127);
});

// ---- cargo ----------------------------------------------------------------------------------------------------------

test('programs of tests are those that cargo has built for tests', () => {
  const artifact = (kind, name, isTest, executable = '/x') =>
    JSON.stringify({ reason: 'compiler-artifact', target: { kind, name }, profile: { test: isTest }, executable });
  const lines = [
    '   Compiling webgguf',
    artifact(['cdylib', 'rlib'], 'webgguf', false, null),
    artifact(['cdylib', 'rlib'], 'webgguf', true),
    artifact(['example'], 'tensors', false),
    artifact(['test'], 'forward', true),
    artifact(['bin'], 'tool', true),
    '{"reason":"build-finished","success":true}',
  ];
  assert.deepEqual(programsOf(lines.join('\n')), [['--lib'], ['--test', 'forward'], ['--bin', 'tool']]);
});

test('programs run without cargo have what its configuration gives them', () => {
  const text = '[env]\nA = "1"\nB_2 = "of two"\n\n[other]\nC = "3"\n';
  assert.deepEqual(cargoEnv(text), { A: '1', B_2: 'of two' });
  assert.equal(cargoEnv('# [env]\nA = "1"\n').A, undefined);
  assert.ok(Number(cargoEnv().WASM_BINDGEN_TEST_TIMEOUT) > 600);
});

test('every program in tests/ is run, those that are not optimised among them', () => {
  const places = hostPrograms().map((name) =>
    [`tests/${name}.rs`, `tests/${name}/main.rs`].map((file) => path.join(ROOT, file)),
  );
  assert.ok(places.every((files) => files.filter((file) => fs.existsSync(file)).length === 1));
  const written = fs.readdirSync(path.join(ROOT, 'tests')).filter((name) => name.endsWith('.rs'));
  assert.deepEqual(
    written.filter((name) => !hostPrograms().includes(name.replace('.rs', ''))),
    [],
  );
  assert.ok(hostPrograms().includes('tensors'));
  assert.deepEqual(
    PLAIN.filter((name) => !hostPrograms().includes(name)),
    [],
  );
});

test('closing lines are the last ones: a test of runners prints those of others', () => {
  const lines = (pass, fail) => `ℹ tests ${pass + fail}\nℹ pass ${pass}\nℹ fail ${fail}\n`;
  const { passed, failed } = countNode({ code: 0, output: `${lines(1, 1)}✔ a\n${lines(5, 0)}` });
  assert.deepEqual([passed, failed], [5, 0]);
});

test('tests before an end without closing lines are counted one by one', () => {
  const output = '✔ a (1ms)\n▶ b\n  ✔ c (1ms)\n  ✖ d (2ms)\n    not equal\n﹣ e (0ms) # SKIP\n';
  const { told, ...counts } = countNode({ code: 124, output });
  assert.deepEqual(counts, { passed: 2, failed: 1, skipped: 1 });
  assert.match(told, /^ +✖ d[^]*not equal/);
});
