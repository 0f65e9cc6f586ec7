// Runs www/bench.html in headless Chromium and prints its result as Markdown, or as JSON. The package must be built.
// Numbers of a software adapter say little.
//
//   npm run bench -- [--model FILE or URL] [--prompt N] [--predict N] [--runs N] [--backend auto, webgpu or cpu]
//     [--temperature T] [--context N] [--weight-bytes N] [--schema 1 or JSON] [--precision P] [--kv TYPE]
//     [--lengths auto or N,N,…] [--parallel N] [--draft prompt, model, auto or 0] [--draft-model FILE or URL]
//     [--repeat] [--kernels] [--worker] [--tune] [--json] [--save FILE]
//
// `--compare FILE` asks what that result was asked, where nothing else is given, and prints both side by side with the
// spread of their runs. FILE is what `--save` or the page's `Export` wrote; of several results the last. With `--result
// FILE` nothing runs: that is the second result. The exit status says whether it worked, never which is faster.

import fs from 'node:fs';
import path from 'node:path';
import { comparison } from '../www/bench/compare.js';
import { markdown, markdownTable } from '../www/bench/report.js';
import { readResults, summaryOf } from '../www/bench/results.js';
import { parametersOf } from '../www/bench/settings.js';
import { openBrowser } from './browser.mjs';
import { isMain, ROOT, runMain, Stop } from './common.mjs';
import { openPage } from './demo.mjs';
import { option, serve } from './serve.mjs';

const NAMES = [
  'prompt',
  'predict',
  'runs',
  'backend',
  'temperature',
  'context',
  'weight_bytes',
  'schema',
  'precision',
  'kv',
  'lengths',
  'parallel',
  'draft',
];
const SWITCHES = ['kernels', 'worker', 'tune', 'repeat'];
/** Where the page finds the folder of a model that is a file here. */
const MOUNT = '/bench-model/';
const DRAFT_MOUNT = '/bench-draft/';
const LIMIT_MS = 30 * 60_000;

/**
 * Runs the page with these parameters.
 * @param {Record<string, string | number>} parameters of bench.html
 * @param {Record<string, string>} [mounts] of `serve`
 * @returns {Promise<object>} the JSON it reports
 */
export async function bench(parameters, mounts = {}) {
  let deliver;
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  const site = await serve({ mounts, onReport: deliver });
  const browser = await openBrowser();
  let timer;
  try {
    const query = new URLSearchParams({ ...parameters, report: '/result' });
    const page = await openPage(browser, `${site.url}/bench.html?${query}`);
    await page.waitForFunction(() => document.documentElement.dataset.state !== 'loading');
    // A model of another site waits for a click.
    if ((await page.evaluate(() => document.documentElement.dataset.state)) === 'ready') await page.click('#run');
    const late = new Promise((resolve, reject) => {
      const said = () => [...page.log.slice(-8), ...page.crashes].join('\n  ');
      timer = setTimeout(() => reject(new Stop(`no result came; the page said\n  ${said()}`)), LIMIT_MS);
    });
    return await Promise.race([arrived, late]);
  } finally {
    clearTimeout(timer);
    await browser.close();
    await site.close();
  }
}

/** The model's address for the page, and the folder to serve where it is a file here. */
function modelOf(asked, mount = MOUNT) {
  if (asked === undefined) return {};
  const file = path.resolve(asked);
  if (!fs.existsSync(file)) return { model: asked };
  const name = encodeURIComponent(path.basename(file));
  return { model: `${mount}${name}`, mounts: { [mount]: path.dirname(file) } };
}

/** The last result of a file. */
function resultOf(file) {
  if (!fs.existsSync(file)) throw new Stop(`there is no file ${file}`);
  try {
    return readResults(fs.readFileSync(file, 'utf8')).at(-1);
  } catch (error) {
    throw new Stop(`${file}: ${error.message}`);
  }
}

/** Runs the bench with what the command line gives, over what a result before was asked. */
async function measured(before) {
  if (!fs.existsSync(path.join(ROOT, 'dist', 'index.js'))) throw new Stop('the package is not built', 'npm run build');
  const { model: modelBefore, ...asBefore } = before ? parametersOf(before.settings) : {};
  const asked = option('model', modelBefore);
  if (asked?.startsWith(MOUNT)) throw new Stop(`the file before does not say where ${asked} lies`, 'add --model FILE');
  const { model, mounts } = modelOf(asked);
  const draft = modelOf(option('draft-model'), DRAFT_MOUNT);
  const given = NAMES.map((name) => [name, option(name.replace('_', '-'))]).filter(([, value]) => value !== undefined);
  const switches = SWITCHES.filter((name) => process.argv.includes(`--${name}`)).map((name) => [name, 1]);
  const parameters = { ...asBefore, ...Object.fromEntries([...given, ...switches]), ...(model && { model }) };
  if (draft.model) parameters.draft_model = draft.model;
  const result = await bench(parameters, { ...mounts, ...draft.mounts });
  if (result.error) throw new Stop(`${result.error.code}: ${result.error.message}`);
  // Where the model lies is known here, not to the page.
  if (mounts) result.settings.model = asked;
  return result;
}

/** Both results in a table of Markdown. */
function sideBySide(before, now) {
  const entries = [
    { label: 'before', result: before },
    { label: 'now', result: summaryOf(now) },
  ];
  return `${markdownTable(comparison(entries))}\n`;
}

async function main() {
  const before = option('compare') && resultOf(option('compare'));
  if (option('result') && !before) throw new Stop('--result is compared with a file before', 'add --compare FILE');
  const result = option('result') ? resultOf(option('result')) : await measured(before);
  if (option('save')) fs.writeFileSync(option('save'), `${JSON.stringify(result, null, 2)}\n`);
  if (process.argv.includes('--json')) console.log(JSON.stringify(result, null, 2));
  else console.log(before ? sideBySide(before, result) : markdown(result));
}

if (isMain(import.meta.url)) await runMain(main);
