// `npm run site`: builds site/, a folder of static files for any host: the demo as its first page, the examples, the
// guides, the reference of the API, and the pages that test a device. It needs no server of its own and, but for models
// of the hub, no other site.
//
//   www/, dist/, fixtures of answers.html ──copied, with addresses below the page──► site/
//   docs/ ──guides.mjs──► site/guides/, site/docs/;  examples/ ──gallery.mjs──► site/examples/
//   js/ ──reference.mjs (TypeDoc)──► site/api/

import fs from 'node:fs';
import path from 'node:path';
import * as esbuild from 'esbuild';
import { build, buildHarness } from './build.mjs';
import { CACHE, filesUnder, isMain, ROOT, runMain, seconds, Stop, withLock, writeJson } from './common.mjs';
import { installTools } from './install-tools.mjs';
import { prepare } from './prepare.mjs';
import { withSlashes } from './system.mjs';
import { allLinks, deviceLinks, pageLinks } from './site/frame.mjs';
import { writeGallery } from './site/gallery.mjs';
import { writeGuides } from './site/guides.mjs';
import { writeReference } from './site/reference.mjs';

export const SITE = path.join(ROOT, 'site');
/** Where TypeDoc and React are installed, which only the site needs. */
export const TOOLS = path.join(CACHE, 'site');
const HARNESS = path.join(ROOT, 'www', 'harness', 'webgguf.js');

/** Entries of the package: what examples and `worker: true` load. */
const ENTRIES = [
  ...['index', 'worker'],
  ...[
    'openai',
    'anthropic',
    'mcp',
    'react',
    'vue',
    'svelte',
    'prompt-api',
    'ai-sdk',
    'decide',
    'models',
    'voice',
    'compute',
    'training',
  ].map((name) => `${name}/index`),
];

/** The entries, and other scripts of the package that pages import, which are no entries. */
function packedScripts() {
  const pages = filesUnder('www').filter((file) => /^www\/(?!harness|vendor).*\.js$/.test(file));
  const imported = pages.flatMap((file) => {
    const script = fs.readFileSync(path.join(ROOT, file), 'utf8');
    return [...script.matchAll(/'\.\.\/\.\.\/dist\/([\w/-]+)\.js'/g)].map(([, name]) => name);
  });
  return [...new Set([...ENTRIES, ...imported])];
}

/** In www/ the package lies beside the pages, on the site below them: so it works in any folder of a host. */
const below = (script) =>
  script.replaceAll('../../dist/', '../dist/').replaceAll("'/fixtures/models/'", "'fixtures/models/'");

/** A page of www/ with the links of the site. */
function withLinks(html, page) {
  return html
    .replace(/(<nav class="links" aria-label="Pages">)[^]*?(<\/nav>)/, `$1\n    ${pageLinks(page)}\n  $2`)
    .replace(/(<nav class="links" aria-label="About webgguf">)[^]*?(<\/nav>)/, `$1\n    ${allLinks(page)}\n  $2`)
    .replace(
      '<!-- The site puts its links here. -->',
      `<nav class="links" aria-label="More">\n    ${allLinks(page)}\n  </nav>`,
    )
    .replace('<h1>', `${deviceLinks(page)}<h1>`);
}

/**
 * The package in few files, so that a page makes few requests. All lie in dist/ itself, where the scripts are that look
 * for the WebAssembly beside them.
 */
async function packPackage(out) {
  await esbuild.build({
    entryPoints: packedScripts().map((entry) => path.join(ROOT, 'dist', `${entry}.js`)),
    outbase: path.join(ROOT, 'dist'),
    outdir: path.join(out, 'dist'),
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    external: ['react', 'vue', 'node:*'],
    logLevel: 'warning',
  });
}

/** The first page is what a stranger waits for: its sheets are one file, and so are its scripts but for the package. */
async function packFirst(out) {
  const page = path.join(out, 'index.html');
  const html = fs.readFileSync(page, 'utf8');
  const sheets = [...html.matchAll(/<link rel="stylesheet" href="([^"]+)">\s*/g)];
  const packed = { bundle: true, minify: true, logLevel: 'warning', allowOverwrite: true };
  const contents = sheets.map(([, href]) => `@import './${href}';`).join('\n');
  const outfile = path.join(out, 'demo', 'page.css');
  await esbuild.build({ ...packed, stdin: { contents, loader: 'css', resolveDir: out }, outfile });
  const script = path.join(out, 'demo', 'demo.js');
  await esbuild.build({ ...packed, entryPoints: [script], format: 'esm', external: ['../dist/*'], outfile: script });
  const [first, ...others] = sheets.map(([whole]) => whole);
  const one = html.replace(first, `<link rel="stylesheet" href="demo/page.css">\n  ${preloads(out)}\n  `);
  fs.writeFileSync(
    page,
    others.reduce((text, sheet) => text.replace(sheet, ''), one),
  );
}

/** Files of the first page that it imports, so that the browser fetches them all at once. */
function preloads(out) {
  const found = new Set();
  const follow = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const text = fs.readFileSync(path.join(out, file), 'utf8');
    for (const [, target] of text.matchAll(/(?:^|;)(?:import|export)\b(?:[^;(]*?from)?\s*['"](\.[^'"]+)['"]/gm)) {
      follow(path.posix.join(path.posix.dirname(file), target));
    }
  };
  follow('demo/demo.js');
  return [...found].map((file) => `<link rel="modulepreload" href="${file}">`).join('\n  ');
}

function copyPages(out) {
  if (!fs.existsSync(HARNESS)) throw new Stop('www/harness/ is missing, which kernels.html needs', 'npm run site');
  const copied = [
    ...filesUnder('www')
      .filter((file) => !file.endsWith('.md'))
      .map((file) => [file, path.posix.relative('www', file)]),
    ...filesUnder('dist')
      .filter((file) => file.endsWith('.wasm'))
      .map((file) => [file, file]),
    // Beside the scripts that look for them.
    ['dist/training/language/training-worker.js', 'dist/training-worker.js'],
    ...filesUnder('dist/voice')
      .filter((file) => file.endsWith('-worklet.js'))
      .map((file) => [file, file]),
    ...filesUnder('tests/fixtures/models')
      .filter((file) => /\.(gguf|json|txt)$/.test(file))
      .map((file) => [file, path.posix.relative('tests', file)]),
  ];
  for (const [from, to] of copied) {
    const target = path.join(out, to);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    const source = path.join(ROOT, from);
    if (/^www\/[\w-]+\.html$/.test(from)) fs.writeFileSync(target, withLinks(fs.readFileSync(source, 'utf8'), to));
    else if (/^www\/(?!harness|vendor).*\.js$/.test(from))
      fs.writeFileSync(target, below(fs.readFileSync(source, 'utf8')));
    else fs.copyFileSync(source, target);
  }
}

/**
 * For `npx serve`. Of itself it takes `.html` and the slash of folders from addresses, after which links of a page lead
 * elsewhere; told not to, it lists a folder rather than show its page, unless it is told of every one.
 */
function serveSettings(out) {
  const found = filesUnder(path.relative(ROOT, out)).map((file) =>
    withSlashes(path.relative(out, path.join(ROOT, file))),
  );
  const folders = found.filter((file) => path.basename(file) === 'index.html').map((file) => path.posix.dirname(file));
  const rewrites = folders.map((folder) => ({
    source: path.posix.join('/', folder), // without a slash at its end, as it compares them
    destination: path.posix.join('/', folder, 'index.html'),
  }));
  return { cleanUrls: false, trailingSlash: true, rewrites };
}

/** Builds the site into the folder `out` from what is built already. Returns counts of its pages. */
export const makeSite = (out = SITE) => withLock('site', () => writeSite(out));

async function writeSite(out) {
  fs.rmSync(out, { recursive: true, force: true });
  await installTools(path.join(ROOT, 'tools', 'site'), TOOLS);
  copyPages(out);
  await packPackage(out);
  await packFirst(out);
  const icon = /<link rel="icon".*>/.exec(fs.readFileSync(path.join(out, 'index.html'), 'utf8'))[0];
  const documents = writeGuides(out, icon);
  await writeGallery(out, { tools: TOOLS, icon });
  const reference = await writeReference(out, { tools: TOOLS, icon });
  writeJson(path.join(out, 'serve.json'), serveSettings(out));
  return { documents, reference };
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    await prepare({ quiet: true });
    await build({ quiet: true });
    await buildHarness({ quiet: true });
    const start = performance.now();
    const { documents, reference } = await makeSite();
    console.log(`site/: ${documents} documents, ${reference} pages of the reference, built in ${seconds(start)}`);
    console.log('to look at it: npx serve site');
  });
}
