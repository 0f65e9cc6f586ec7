// Jobs beside each other: what each prints stays together, also what its programs print.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import { ROOT } from '../../tools/common.mjs';
import { diskWarning, schedule } from '../../tools/test.mjs';

const url = (name) => JSON.stringify(pathToFileURL(path.join(ROOT, 'tools', name)).href);

/** Runs `script` with the functions of tools/lanes.mjs and tools/common.mjs; what it printed, and its exit code. */
function run(script) {
  const imports = `import { inLanes } from ${url('lanes.mjs')}; import { run } from ${url('common.mjs')};`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', imports + script]);
  const lines = String(stdout).trim().split('\n');
  return { lines: lines.filter((line) => !line.startsWith('....')), status };
}

/** Two jobs that each wait for the other in the middle, so that they run at the same time. */
const JOBS = `
  const meet = {};
  const met = Object.fromEntries(['a', 'b'].map((name) => [name, new Promise((resolve) => (meet[name] = resolve))]));
  const job = (name, other) => ({ name, work: async () => {
    console.log(name, 1);
    meet[name]();
    await met[other];
    await run(process.execPath, ['-e', 'console.log("' + name + ' 2"); console.error("' + name + ' 3")']);
    console.log(name, 4);
    return name;
  } });
  const third = { name: 'c', work: async () => 'c' };`;

test('two jobs run at once, and their blocks are not mixed', () => {
  const { lines, status } = run(
    `${JOBS} console.log((await inLanes(2, [job('a', 'b'), job('b', 'a'), third])).join());`,
  );
  assert.equal(status, 0);
  assert.equal(lines.at(-1), 'a,b,c', 'results come in the order of the jobs');
  const [first, second] = lines[0].startsWith('a') ? 'ab' : 'ba';
  const block = (name) => [1, 2, 3, 4].map((n) => `${name} ${n}`);
  const sorted = [...lines.slice(0, 4).sort(), ...lines.slice(4, 8).sort()];
  assert.deepEqual(sorted, [...block(first), ...block(second)]);
});

test('in one lane they follow each other', () => {
  const { lines } = run(`
    const job = (name) => ({ name, work: async () => {
      console.log(name, 1); await null; console.log(name, 2); return name; } });
    console.log((await inLanes(1, [job('a'), job('b')])).join());`);
  assert.deepEqual(lines, ['a 1', 'a 2', 'b 1', 'b 2', 'a,b']);
});

test('what a job printed is not lost when all ends in the middle of it', () => {
  const { lines, status } = run(`${JOBS}
    const end = { name: 'end', work: async () => { console.log('last words'); process.exit(7); } };
    await inLanes(2, [third, end]);`);
  assert.equal(status, 7);
  assert.deepEqual(lines, ['last words']);
});

test('long suites begin early, the files of pages last, and the build beside the longest that needs none', () => {
  const all = ['style', 'host', 'tools', 'browser', 'js', 'page', 'package'].map((name) => {
    return { name, needsBuild: ['js', 'page', 'package'].includes(name) };
  });
  const order = (lanes, ...names) => {
    const chosen = names.length > 0 ? all.filter(({ name }) => names.includes(name)) : all;
    return schedule(chosen, lanes).map(({ name }) => name);
  };
  assert.deepEqual(order(2), ['browser', 'build', 'host', 'package', 'style', 'tools', 'js', 'page']);
  assert.deepEqual(order(2, 'style', 'host', 'page'), ['host', 'build', 'style', 'page']);
  assert.deepEqual(order(2, 'js', 'page'), ['build', 'js', 'page']);
  assert.deepEqual(order(2, 'style', 'host'), ['host', 'style']);
  assert.deepEqual(order(1), ['build', 'style', 'host', 'tools', 'browser', 'js', 'package', 'page']);
});

test('before a first run of everything the free space of the disk is looked at', () => {
  const disk = (bytes) => ({ bavail: bytes / 4096, bsize: 4096 });
  assert.match(
    diskWarning(disk(5.9e9), true),
    /has 5\.9 GB free, and a run of everything in a bare clone writes up to 12/,
  );
  assert.equal(diskWarning(disk(5.9e9), false), null, 'what was compiled before is there');
  assert.equal(diskWarning(disk(30e9), true), null);
});
