// Sets up what the suite `firefox` needs, on Debian as root: Firefox ESR from its package, and Mesa's lavapipe, a
// Vulkan driver without a GPU. The driver is unpacked into a folder of its own and not installed, so that Chromium,
// which takes any driver that is installed, keeps the adapter it has; Firefox finds it by environment variables
// (firefox.mjs).

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ask, filesUnder, isRoot, must, ROOT, which } from './common.mjs';
import { DRIVER, findDriverManifest, findFirefox, MANIFEST } from './firefox.mjs';

const FIREFOX = 'firefox-esr';
const MESA = 'mesa-vulkan-drivers';

/** What of it is there, in words, or null. */
export function firefoxDone() {
  const [firefox, manifest] = [findFirefox(), findDriverManifest()];
  return firefox && manifest ? `${firefox}, ${path.relative(ROOT, manifest)}` : null;
}

/** Why this machine cannot be set up, or null. */
export function firefoxSkipped() {
  if (!which('apt-get') || !which('dpkg-deb')) return 'only Debian packages Firefox and lavapipe in a way known here';
  if (process.env.WEBGGUF_APT === '0') return 'WEBGGUF_APT=0 installs nothing';
  if (!isRoot()) return 'apt-get needs root: run `npm run setup` as root once, or set FIREFOX and VK_DRIVER_FILES';
  return null;
}

/** @param {(packages: string[]) => Promise<void>} install installs Debian packages, after an update of the lists */
export async function prepareFirefox(install) {
  if (!findFirefox()) await install([FIREFOX]);
  if (!findDriverManifest()) await unpackDriver();
}

/** Unpacks what apt would install for the driver. */
async function unpackDriver() {
  const plan = ask('apt-get', ['install', '-s', '--no-install-recommends', MESA]) ?? '';
  await unpackPackages(
    [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name),
    DRIVER,
  );
  writeManifest(DRIVER, MANIFEST);
}

/**
 * Unpacks Debian packages without installing them.
 * @param {string[]} packages
 * @param {string} into a folder
 * @param {(folder: string) => Promise<string[]>} [prepare] prepares an empty folder and gives options for apt-get
 */
export async function unpackPackages(packages, into, prepare = async () => []) {
  console.log(`  unpacking ${packages.join(' ')}`);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'webgguf-lavapipe-'));
  try {
    // Root, but apt downloads as a user of its own, who must be able to write there.
    fs.chmodSync(folder, 0o777);
    const options = await prepare(folder);
    await must('apt-get', [...options, 'download', '-qq', ...packages], { cwd: folder, quiet: true });
    for (const name of fs.readdirSync(folder).filter((file) => file.endsWith('.deb'))) {
      await must('dpkg-deb', ['-x', path.join(folder, name), into], { quiet: true });
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the manifest of the lavapipe in `folder` as packaged, with the library where it was unpacked. */
export function writeManifest(folder, to) {
  const files = filesUnder(path.relative(ROOT, folder));
  const packaged = files.find((file) => /lvp_icd.*\.json$/.test(file));
  const library = files.find((file) => file.endsWith('/libvulkan_lvp.so'));
  const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, packaged), 'utf8'));
  manifest.ICD.library_path = path.join(ROOT, library);
  fs.writeFileSync(to, `${JSON.stringify(manifest, null, 2)}\n`);
}
