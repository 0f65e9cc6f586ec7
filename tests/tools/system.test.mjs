// What differs between Linux, macOS and Windows: each function is asked for all three.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { isNodeNewEnough } from '../../tools/prepare.mjs';
import {
  browserPlaces,
  changedEnv,
  isSamePath,
  npmCommand,
  pathFolders,
  programIn,
  programName,
  which,
  withSlashes,
} from '../../tools/system.mjs';
import { bindgenVersion, isOlderThan } from '../../tools/toolchain.mjs';

const windows = { platform: 'win32' };

test('programs have their ending on Windows', () => {
  assert.equal(programName('cargo', 'win32'), 'cargo.exe');
  assert.equal(programName('cargo.exe', 'win32'), 'cargo.exe');
  assert.equal(programName('cargo', 'darwin'), 'cargo');
  assert.equal(programIn('C:\\Users\\a\\.cargo\\bin', 'rustc', 'win32'), 'C:\\Users\\a\\.cargo\\bin\\rustc.exe');
  assert.equal(programIn('/home/a/.cargo/bin', 'rustc', 'linux'), '/home/a/.cargo/bin/rustc');
});

test('a program is looked for in the given folders, then on PATH, which Windows writes in its own ways', () => {
  const there = new Set(['D:\\tools\\cargo.exe', 'C:\\rust\\cargo.exe', '/opt/bin/cargo', '/usr/bin/cargo']);
  const isProgram = (file) => there.has(file);
  const env = { Path: 'C:\\Windows;"D:\\tools";;C:\\rust' };
  assert.deepEqual(pathFolders(env, 'win32'), ['C:\\Windows', 'D:\\tools', 'C:\\rust']);
  assert.equal(which('cargo', [], { env, isProgram, ...windows }), 'D:\\tools\\cargo.exe');
  assert.equal(which('cargo', [null, 'C:\\rust'], { env, isProgram, ...windows }), 'C:\\rust\\cargo.exe');
  assert.equal(which('npm', [], { env, isProgram, ...windows }), null);
  const unix = { env: { PATH: '/usr/bin:/opt/bin' }, isProgram };
  assert.equal(which('cargo', ['/opt/bin'], { ...unix, platform: 'darwin' }), '/opt/bin/cargo');
  assert.equal(which('cargo', [], { ...unix, platform: 'linux' }), '/usr/bin/cargo');
  assert.deepEqual(pathFolders({}, 'linux'), []);
});

test('a changed variable replaces the one of other capitals on Windows alone', () => {
  const env = { Path: 'a', HOME: 'b', path: 'c' };
  assert.deepEqual(changedEnv(env, { PATH: 'x' }, 'win32'), { HOME: 'b', PATH: 'x' });
  assert.deepEqual(changedEnv(env, { PATH: 'x' }, 'linux'), { ...env, PATH: 'x' });
});

test('npm is started by its script where it is a batch file', () => {
  const node = 'C:\\Program Files\\nodejs\\node.exe';
  const script = 'C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npm-cli.js';
  const roaming = 'C:\\Users\\a\\AppData\\Roaming\\npm';
  const exists = (...files) => ({ node, exists: (file) => files.includes(file), ...windows });
  assert.deepEqual(npmCommand({ env: {}, ...exists(script) }), [node, script]);
  const own = `${roaming}\\node_modules\\npm\\bin\\npm-cli.js`;
  assert.deepEqual(npmCommand({ env: { Path: roaming }, ...exists(own) }), [node, own]);
  assert.equal(npmCommand({ env: { Path: roaming }, ...exists() }), null);
  // What `npm run` and other package managers say of themselves.
  assert.deepEqual(npmCommand({ env: { npm_execpath: own }, ...exists(own) }), [node, own]);
  const yarn = 'C:\\yarn\\bin\\yarn.js';
  assert.deepEqual(npmCommand({ env: { npm_execpath: yarn }, ...exists(yarn, script) }), [node, script]);
  const unix = { env: { PATH: '/usr/bin' }, node: '/usr/bin/node', platform: 'linux' };
  assert.deepEqual(npmCommand({ ...unix, exists: (file) => file === '/usr/bin/npm' }), ['npm']);
  assert.equal(npmCommand({ ...unix, exists: () => false }), null);
});

test('paths are compared and hashed with slashes', () => {
  assert.equal(withSlashes('tests\\js\\a.test.mjs', 'win32'), 'tests/js/a.test.mjs');
  assert.equal(withSlashes('a\\b', 'linux'), 'a\\b', 'a name may have it there');
  assert.ok(isSamePath('c:\\work\\tools\\start.mjs', 'C:\\work\\tools\\start.mjs', 'win32'));
  assert.ok(!isSamePath('/work/A', '/work/a', 'linux'));
});

test('browsers are looked for where each system installs them', () => {
  const mac = browserPlaces({}, 'darwin', '/Users/a');
  assert.ok(mac.includes('/Users/a/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'));
  const env = { ProgramFiles: 'C:\\Program Files', LocalAppData: 'C:\\Users\\a\\AppData\\Local' };
  const places = browserPlaces(env, 'win32');
  assert.ok(places.includes('C:\\Users\\a\\AppData\\Local\\Google\\Chrome\\Application\\chrome.exe'));
  assert.ok(places[0].endsWith('chrome.exe') && places.at(-1).endsWith('msedge.exe'));
  assert.deepEqual(browserPlaces({}, 'linux'), []);
});

test('what is too old is known', () => {
  assert.ok(isOlderThan('rustc 1.94.9 (abc 2026-01-01)', '1.95'));
  assert.ok(isOlderThan('rustc 0.99.0', '1.95'));
  for (const version of ['rustc 1.95.0', 'rustc 1.100.0-nightly', 'rustc 2.0.0'])
    assert.ok(!isOlderThan(version, '1.95'));
  for (const version of ['v20.19.0', 'v20.20.2', 'v22.0.0']) assert.ok(isNodeNewEnough(version, '20.19'), version);
  for (const version of ['v20.18.9', 'v18.20.0']) assert.ok(!isNodeNewEnough(version, '20.19'), version);
});

test('the small wasm-bindgen has the version of the engine’s', () => {
  const read = (name) => fs.readFileSync(path.join(ROOT, 'tools', 'bindgen', name), 'utf8');
  const version = bindgenVersion();
  assert.match(read('Cargo.toml'), new RegExp(`^version = "${version}"`, 'm'));
  assert.match(read('Cargo.toml'), new RegExp(`^wasm-bindgen-cli-support = "=${version}"`, 'm'));
  assert.match(read('Cargo.lock'), new RegExp(`name = "wasm-bindgen-cli-support"\nversion = "${version}"`));
});

test('every text file has the same line ends on every system', () => {
  assert.match(fs.readFileSync(path.join(ROOT, '.gitattributes'), 'utf8'), /^\* text=auto eol=lf$/m);
});

test('no script starts npm or a compiled program in a way that Windows does not know', () => {
  const scripts = fs.readdirSync(path.join(ROOT, 'tools')).filter((name) => name.endsWith('.mjs'));
  for (const name of scripts.filter((file) => !['system.mjs', 'processes.mjs'].includes(file))) {
    const text = fs.readFileSync(path.join(ROOT, 'tools', name), 'utf8');
    const wrong = /path\.join\(bin, |spawn(?:Sync)?\('npm/.exec(text);
    assert.equal(wrong?.[0], undefined, name);
  }
});
