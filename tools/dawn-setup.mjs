// Sets up a Vulkan driver that Dawn takes, for tests of npm's `webgpu` in Node.js. Dawn refuses the lavapipe of
// Debian 12, Mesa 22.3 (it has no arrays of sampled images with dynamic indices). It takes Mesa 25, which Debian 12 has
// among its backports. The newer driver is unpacked beside the older one, whose LLVM it uses, and which Firefox and
// Deno keep.

import fs from 'node:fs';
import path from 'node:path';
import { ask, CACHE, isRoot, must, readJson, which } from './common.mjs';
import { DRIVER, driverEnv, findDriverManifest, MANIFEST } from './firefox.mjs';
import { unpackPackages, writeManifest } from './firefox-setup.mjs';

const NEWER = path.join(CACHE, 'lavapipe-25');
const NEWER_MANIFEST = path.join(NEWER, 'driver.json');
const PACKAGES = ['mesa-vulkan-drivers', 'libdrm2'];
const RELEASE = 'bookworm';

/** The version of Vulkan that Mesa 25 has; drivers of GPUs have an older one, and Dawn takes most of them. */
const MESA_25 = 1.4;

/** Whether Dawn takes the driver of a manifest, as far as that says. */
export const isTaken = (manifest) => {
  const { api_version: version = '', library_path: library = '' } = readJson(manifest)?.ICD ?? {};
  return !library.includes('libvulkan_lvp') || Number.parseFloat(version) >= MESA_25;
};

/** The manifest of a Vulkan driver that Dawn takes, or null. */
export function findDawnManifest() {
  return [findDriverManifest(), NEWER_MANIFEST].find((file) => file && fs.existsSync(file) && isTaken(file)) ?? null;
}

/** What makes Dawn take that driver and nothing else; empty when there is none. */
export function dawnEnv() {
  const manifest = findDawnManifest();
  if (manifest === NEWER_MANIFEST)
    return driverEnv(
      manifest,
      [NEWER, DRIVER].filter((folder) => fs.existsSync(folder)),
    );
  return manifest ? driverEnv(manifest, manifest === MANIFEST ? [DRIVER] : []) : {};
}

/** Why this machine cannot be set up, or null. */
export function dawnSkipped() {
  if (!which('apt-get') || !which('dpkg-deb')) return 'no Debian to take lavapipe from';
  if (process.env.WEBGGUF_APT === '0') return 'WEBGGUF_APT=0 installs nothing';
  if (!isRoot()) return 'apt-get needs root: run `npm run setup` as root once, or set VK_DRIVER_FILES';
  return debianSite()
    ? null
    : `Dawn takes the lavapipe of Mesa 25 or newer, which is looked for on Debian ${RELEASE} alone`;
}

/** Unpacks the newer driver. */
export async function prepareDawn() {
  await unpackPackages(PACKAGES, NEWER, fromBackports);
  writeManifest(NEWER, NEWER_MANIFEST);
}

/** Options with which apt-get knows the backports and nothing else; the system's own lists stay as they are. */
async function fromBackports(folder) {
  const sources = path.join(folder, 'backports.list');
  fs.writeFileSync(sources, `deb ${debianSite()} ${RELEASE}-backports main\n`);
  const places = {
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
  };
  for (const name of ['lists', 'cache/archives']) fs.mkdirSync(path.join(folder, name, 'partial'), { recursive: true });
  const options = Object.entries(places).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await must('apt-get', [...options, 'update', '-qq'], { quiet: true });
  return options;
}

/** Where this machine gets the packages of the release from; undefined on another release. */
function debianSite() {
  const lines = ask('apt-get', ['indextargets', '--format', '$(SITE) $(RELEASE) $(COMPONENT)']) ?? '';
  return new RegExp(`^(\\S+) ${RELEASE} main$`, 'm').exec(lines)?.[1];
}
