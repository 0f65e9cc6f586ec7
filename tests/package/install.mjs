// The package as a user gets it: packed, and installed into a folder of small apps. The bundlers of tools.json lie in
// the folder above, where the apps find them; they stay there from one run to the next.

import fs from 'node:fs';
import path from 'node:path';
import { CACHE, must, ROOT } from '../../tools/common.mjs';
import { installTools, NPM_FLAGS } from '../../tools/install-tools.mjs';

const HERE = path.join(ROOT, 'tests', 'package');
const BASE = path.join(CACHE, 'package');
const MODEL = path.join(ROOT, 'www', 'models', 'storyteller.gguf');

/** The folder with the apps. */
export const APPS = path.join(BASE, 'apps');
/** The package as it is installed there. */
export const INSTALLED = path.join(APPS, 'node_modules', 'webgguf');

/** Path of a file of a bundler, such as `tool('vite5', 'bin/vite.js')`. */
export const tool = (name, file) => path.join(BASE, 'node_modules', name, file);

/** Packs and installs. Returns the path of the tarball, and the names of the files that `npm pack` put into it. */
export async function installPackage() {
  await installTools(HERE, BASE);
  fs.rmSync(APPS, { recursive: true, force: true });
  fs.cpSync(path.join(HERE, 'apps'), APPS, { recursive: true });
  fs.copyFileSync(path.join(APPS, 'story.js'), path.join(APPS, 'next', 'app', 'story.js'));
  for (const app of ['', 'hoisted', 'next']) {
    fs.mkdirSync(path.join(APPS, app, 'public'));
    fs.copyFileSync(MODEL, path.join(APPS, app, 'public', 'model.gguf'));
  }
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', APPS];
  const output = await must('npm', pack, { quiet: true });
  const [{ filename, files }] = JSON.parse(output.slice(output.indexOf('[\n'), output.lastIndexOf(']') + 1));
  await must('npm', ['install', ...NPM_FLAGS, `./${filename}`], { cwd: APPS, quiet: true });
  return { tarball: path.join(APPS, filename), names: files.map(({ path: name }) => name) };
}

/** Checks the types of `text`, as the file `name` beside the clients of tools.json. DIST stands for the package. */
export async function mustCompile(name, text) {
  const file = path.join(BASE, name);
  fs.writeFileSync(file, text.replaceAll('DIST', path.join(ROOT, 'dist')));
  const tsc = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const flags =
    '--ignoreConfig --noEmit --strict --skipLibCheck --target esnext --module esnext --moduleResolution bundler';
  await must(process.execPath, [tsc, ...flags.split(' '), '--types', '', file], { quiet: true });
}

/** Installs the bundlers and clients of tools.json. */
export const installClients = () => installTools(HERE, BASE);

/** The folder with the libraries of libraries/tools.json: programs in it find these, the clients, and the package. */
export const LIBRARIES = path.join(BASE, 'libraries');

/** Installs the libraries of libraries/tools.json; says why not, where npm's registry is out of reach. */
export async function installLibraries() {
  await installClients();
  try {
    await installTools(path.join(HERE, 'libraries'), LIBRARIES);
  } catch (error) {
    if (!/E(?:NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH)/.test(error.message)) throw error;
    return "npm's registry is out of reach";
  }
  const link = path.join(LIBRARIES, 'node_modules', 'webgguf');
  if (!fs.existsSync(link)) fs.symlinkSync(ROOT, link, 'junction');
  return undefined;
}
