// Runs www/bench.html in headless Chromium and prints its result as Markdown, or as JSON. The package must be built.
// Numbers of a software adapter say little.
//
//   npm run bench -- [--model FILE or URL] [--prompt N] [--predict N] [--runs N] [--backend auto, webgpu or cpu]
//     [--temperature T] [--context N] [--weight-bytes N] [--kernels] [--json]
//     [--schema 1 or JSON]

import fs from 'node:fs';
import path from 'node:path';
import { markdown } from '../www/bench/report.js';
import { openBrowser } from './browser.mjs';
import { isMain, ROOT, runMain, Stop } from './common.mjs';
import { openPage } from './demo.mjs';
import { option, serve } from './serve.mjs';

const NAMES = ['prompt', 'predict', 'runs', 'backend', 'temperature', 'context', 'weight_bytes', 'schema'];
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
function modelOf(asked) {
  if (asked === undefined) return {};
  const file = path.resolve(asked);
  if (!fs.existsSync(file)) return { model: asked };
  const name = encodeURIComponent(path.basename(file));
  return { model: `/bench-model/${name}`, mounts: { '/bench-model/': path.dirname(file) } };
}

async function main() {
  if (!fs.existsSync(path.join(ROOT, 'dist', 'index.js'))) throw new Stop('the package is not built', 'npm run build');
  const { model, mounts } = modelOf(option('model'));
  const given = NAMES.map((name) => [name, option(name.replace('_', '-'))]).filter(([, value]) => value !== undefined);
  const parameters = { ...Object.fromEntries(given), ...(model && { model }) };
  if (process.argv.includes('--kernels')) parameters.kernels = 1;
  const result = await bench(parameters, mounts);
  if (result.error) throw new Stop(`${result.error.code}: ${result.error.message}`);
  console.log(process.argv.includes('--json') ? JSON.stringify(result, null, 2) : markdown(result));
}

if (isMain(import.meta.url)) await runMain(main);
