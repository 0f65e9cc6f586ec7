// Finds Firefox and a Vulkan driver for it, and drives it headless through Marionette, the remote protocol that every
// Firefox has: JSON over a TCP socket. (WebDriver BiDi would need a WebSocket client, and geckodriver is not packaged.)

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from './browser.mjs';
import { CACHE, Stop, which } from './common.mjs';
import { endTree } from './processes.mjs';

/** Where firefox-setup.mjs unpacks lavapipe, and the manifest by which the Vulkan loader finds it. */
export const DRIVER = path.join(CACHE, 'lavapipe');
export const MANIFEST = path.join(DRIVER, 'driver.json');

const START_MS = PATIENCE_MS;
const PREFERENCES = {
  'dom.webgpu.enabled': true,
  // A driver without a GPU is on the list of untrusted ones.
  'gfx.webgpu.ignore-blocklist': true,
  'dom.max_script_run_time': 0,
  'marionette.port': 0,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'browser.aboutwelcome.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.enabled': false,
  'app.update.enabled': false,
  'app.normandy.enabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
};

/** Path of Firefox: `FIREFOX`, then PATH; null when there is none. */
export function findFirefox() {
  if (process.env.FIREFOX) return fs.existsSync(process.env.FIREFOX) ? process.env.FIREFOX : null;
  return which('firefox-esr') ?? which('firefox');
}

/** The manifest of a Vulkan driver: `VK_DRIVER_FILES`, else the unpacked lavapipe; null when there is none. */
export function findDriverManifest() {
  return [process.env.VK_DRIVER_FILES, MANIFEST].find((file) => file && fs.existsSync(file)) ?? null;
}

/**
 * Starts headless Firefox on a profile of its own, with WebGPU on.
 * @returns {Promise<{open: (url: string) => Promise<void>, evaluate: (work: Function, ...args: unknown[]) =>
 *   Promise<unknown>, screenshot: () => Promise<Buffer>, tab: () => Promise<string>, openTab: () => Promise<string>,
 *   switchTo: (tab: string) => Promise<void>, closeTab: () => Promise<void>, close: () => Promise<void>}>} `open` waits
 *   for the load event; `evaluate` runs `work` in the page, like playwright's; all of them mean the tab that `openTab`
 *   has opened or `switchTo` has named, after `closeTab` none; the caller closes it
 */
export async function openFirefox() {
  const program = findFirefox();
  if (!program) throw new Stop('no Firefox was found', 'run `npm run setup`, or set FIREFOX to its path');
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'webgguf-firefox-'));
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`);
  fs.writeFileSync(path.join(profile, 'user.js'), lines.join(''));
  const args = ['--headless', '--no-remote', '--marionette', '--profile', profile];
  const env = { ...process.env, ...driverEnv(), MOZ_HEADLESS: '1', HOME: profile };
  const child = spawn(program, args, {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: process.platform !== 'win32',
  });
  const end = () => endTree(child);
  process.once('exit', end);
  const close = async () => {
    process.off('exit', end);
    const ended = child.exitCode === null ? new Promise((resolve) => child.once('exit', resolve)) : undefined;
    end();
    await ended;
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    said = (said + piece).slice(-4000);
  });
  try {
    return { ...(await connect(child, profile)), close };
  } catch (error) {
    await close();
    throw new Stop(`Firefox did not start: ${error.message}`, said.trim() || 'it said nothing');
  }
}

/**
 * What makes a program's Vulkan loader take that driver and nothing else; empty when there is none.
 * @param {string | null} [manifest] of another driver than `findDriverManifest` finds
 * @param {string[]} [folders] where libraries of the driver were unpacked
 */
export function driverEnv(manifest = findDriverManifest(), folders = manifest === MANIFEST ? [DRIVER] : []) {
  if (!manifest) return {};
  const paths = [...folders.flatMap(libraryFolders), process.env.LD_LIBRARY_PATH].filter(Boolean).join(path.delimiter);
  return { VK_DRIVER_FILES: manifest, VK_ICD_FILENAMES: manifest, ...(paths && { LD_LIBRARY_PATH: paths }) };
}

function libraryFolders(folder) {
  const files = fs.readdirSync(folder, { recursive: true }).filter((name) => name.includes('.so'));
  return [...new Set(files.map((name) => path.join(folder, path.dirname(name))))].sort();
}

// ---- Marionette -----------------------------------------------------------------------------------------------------

async function connect(child, profile) {
  const port = await portOf(child, path.join(profile, 'MarionetteActivePort'));
  const send = await openSocket(port);
  await send('WebDriver:NewSession', { capabilities: { alwaysMatch: { pageLoadStrategy: 'normal' } } });
  await send('WebDriver:SetTimeouts', { script: 4 * PATIENCE_MS, pageLoad: PATIENCE_MS });
  return {
    open: (url) => send('WebDriver:Navigate', { url }),
    evaluate: async (work, ...args) => {
      const script = `const done = arguments[arguments.length - 1];
        Promise.resolve((${work})(...[...arguments].slice(0, -1)))
          .then((value) => done({ value }), (error) => done({ error: error + ' ' + (error?.stack ?? '') }));`;
      const { value: reply } = await send('WebDriver:ExecuteAsyncScript', { script, args });
      if (reply.error) throw new Error(reply.error);
      return reply.value;
    },
    tab: async () => (await send('WebDriver:GetWindowHandle', {})).value,
    openTab: async () => {
      const { handle } = await send('WebDriver:NewWindow', { type: 'tab' });
      await send('WebDriver:SwitchToWindow', { handle });
      return handle;
    },
    switchTo: (handle) => send('WebDriver:SwitchToWindow', { handle }),
    closeTab: () => send('WebDriver:CloseWindow', {}),
    screenshot: async () => {
      const { value } = await send('WebDriver:TakeScreenshot', { full: true });
      return Buffer.from(value, 'base64');
    },
  };
}

async function portOf(child, file) {
  for (const start = performance.now(); performance.now() - start < START_MS; await sleep(100)) {
    if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}`);
    const port = fs.existsSync(file) && Number(fs.readFileSync(file, 'utf8'));
    if (port) return port;
  }
  throw new Error(`no port of Marionette within ${START_MS / 1000} s`);
}

/** Messages are `LENGTH:JSON`; a command is `[0, id, name, parameters]`, its answer `[1, id, error, result]`. */
async function openSocket(port) {
  const socket = net.connect(port, '127.0.0.1');
  const waiting = new Map();
  let greet;
  const greeted = new Promise((resolve) => {
    greet = resolve;
  });
  const take = (message) => {
    if (!Array.isArray(message)) return greet();
    const [, id, error, result] = message;
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    return error ? reject(new Error(`${error.error}: ${error.message}`)) : resolve(result);
  };
  const fail = (error) => {
    for (const { reject } of waiting.values()) reject(new Error(`Firefox is gone: ${error?.message ?? 'it closed'}`));
    waiting.clear();
  };
  let bytes = Buffer.alloc(0);
  socket.on('data', (piece) => {
    bytes = takeMessages(Buffer.concat([bytes, piece]), take);
  });
  socket.on('error', fail).on('close', fail);
  await greeted;
  let last = 0;
  return (name, parameters) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      const text = JSON.stringify([0, last, name, parameters]);
      socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
}

/** Gives each whole message in `bytes` to `take`; returns what is left. */
function takeMessages(bytes, take) {
  let rest = bytes;
  for (;;) {
    const colon = rest.indexOf(':');
    const end = colon + 1 + Number(rest.subarray(0, Math.max(0, colon)).toString());
    if (colon < 0 || rest.length < end) return rest;
    take(JSON.parse(rest.subarray(colon + 1, end).toString()));
    rest = rest.subarray(end);
  }
}
