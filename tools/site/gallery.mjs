// The gallery: the examples as pages that run from the site's own copy of the package, and their code.
//
// The files are those of examples/. A page gets an import map, since there is no bundler, and the site's bar; what is
// JSX is compiled. The code that a visitor reads is the file as it is in the repository.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import { filesUnder, ROOT } from '../common.mjs';
import { escapeHtml, frame, relative, REPOSITORY } from './frame.mjs';

const ENTRIES = [
  'openai',
  'anthropic',
  'mcp',
  'react',
  'vue',
  'svelte',
  'prompt-api',
  'ai-sdk',
  'decide',
  'voice',
  'models',
  'compute',
  'training',
];
const REACT = ['react', 'react-dom/client', 'react/jsx-runtime'];
/** Other packages that examples import; `tools.json` has their versions. */
const LIBRARIES = [
  ...['@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/server/mcp.js'],
  ...['@modelcontextprotocol/sdk/inMemory.js', '@orama/orama', 'pdfjs-dist', 'zod'],
];
const CODE = /\.(html|css|js|jsx|ts|rs|mjs|md|json|webmanifest)$/;
/** Files that several examples share. */
const SHARED = ['examples/look.css', 'examples/load.js'];
/** What a visitor should know before the first click; the tests find an example that is not here. */
const COSTS = {
  'react-chat': 'Runs with the storyteller (6.8 MB); Qwen3 0.6B (639 MB) if you choose it',
  search: 'Downloads an embedder (37 MB) at the first search; EmbeddingGemma 2 for pictures and sounds',
  'ask-your-files':
    'Runs with the storyteller (6.8 MB), which answers with stories; BGE small and Qwen3 0.6B (676 MB) if chosen',
  extract: 'Runs with the storyteller (6.8 MB); Qwen3 0.6B (639 MB) if you choose it',
  agents: 'Runs with the storyteller (6.8 MB), which calls tools by chance; Qwen3 4B (2.5 GB) if you choose it',
  triage: 'Runs with the storyteller (6.8 MB); Qwen3 0.6B (639 MB) if you choose it',
  translate: 'Downloads Flan-T5 large (about 830 MB) once you translate',
  tabs: 'Runs with the storyteller (6.8 MB); Qwen3 0.6B (639 MB) if you choose it',
  worker: 'Runs with the storyteller (6.8 MB); Qwen3 0.6B (639 MB) if you choose it',
  camera: 'Downloads LFM2.5-VL 450M and its encoder (322 MB) once you ask it to',
  'read-a-page': 'Downloads GLM-OCR and its encoder (1.4 GB) once you ask it to read',
  offline: 'Runs with the storyteller (6.8 MB)',
  dictate: 'Downloads Ultravox 1B with its encoder (2.2 GB) once you speak',
  talk: 'Downloads Qwen3 0.6B and Qwen3-ASR 0.6B with its encoder (1.6 GB) once you talk',
  train: 'Runs with the storyteller (6.8 MB), or SmolLM2 135M (145 MB); trains on your GPU',
  digits: 'Downloads no model; trains on your GPU',
  spectrum: 'Downloads no model; takes a recording of yours or one that it made',
};

/** Names of what has no page with a title. */
const TITLES = {
  next: 'Chat in Next.js',
  extension: 'Side panel for Chrome',
  'example.ts': 'Most of the API',
  'tensors.rs': 'Tensors from Rust',
};

/** Rows of the table of examples/README.md: name and what it shows, as plain text. */
function rows() {
  const text = fs.readFileSync(path.join(ROOT, 'examples/README.md'), 'utf8');
  return [...text.matchAll(/^\| `([\w.-]+)` +\| (.+?) *\|$/gm)].map(([, name, about]) => ({
    name,
    about: about.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
  }));
}

/** Pages before scripts before styles. */
const KINDS = ['md', 'html', 'jsx', 'js', 'ts', 'css'];
const kindOf = (file) => (KINDS.indexOf(path.extname(file).slice(1)) + KINDS.length) % KINDS.length;
const byUse = (a, b) => kindOf(a) - kindOf(b) || (a < b ? -1 : 1);

/** The examples: `runs` where a page of the site runs it. */
export function examples() {
  return rows().map(({ name, about }) => {
    const files = filesUnder(`examples/${name}`).filter((file) => CODE.test(file) && !/node_modules|dist/.test(file));
    const page = `examples/${name}/index.html`;
    const runs = files.includes(page);
    const html = runs ? fs.readFileSync(path.join(ROOT, page), 'utf8') : '';
    const title = /<title>(.*)<\/title>/.exec(html)?.[1] ?? TITLES[name] ?? name;
    const words = (runs ? about.replace(/ \(`npm [^)]*\)$/, '') : about).replace(/^[a-z]/, (first) =>
      first.toUpperCase(),
    );
    const code = `examples/${name}.code.html`;
    return { name, about: words, files: files.sort(byUse), page, runs, title, cost: COSTS[name], code };
  });
}

/** The module of the site that is a package's `name`. */
const moduleOf = (name) => `examples/${REACT.includes(name) ? 'react' : 'libraries'}/${name.replace(/\.js$/, '')}.js`;

const importMap = (page, files) => {
  const entries = ENTRIES.map((entry) => [`webgguf/${entry}`, `dist/${entry}/index.js`]);
  const code = files.map((file) => fs.readFileSync(path.join(ROOT, file), 'utf8')).join('\n');
  const others = [...REACT, ...LIBRARIES.filter((name) => code.includes(`'${name}'`))];
  const modules = others.map((name) => [name, moduleOf(name)]);
  const imports = [['webgguf', 'dist/index.js'], ...entries, ...modules].map(([name, target]) => [
    name,
    relative(page, target).replace(/^(?!\.)/, './'),
  ]);
  return `<script type="importmap">${JSON.stringify({ imports: Object.fromEntries(imports) })}</script>`;
};

/** An example's page with what makes it run here. */
function pageOf({ page, code, about, files }, icon) {
  const html = fs.readFileSync(path.join(ROOT, page), 'utf8');
  const back = `<nav class="example-bar" aria-label="Example">
      <a href="${relative(page, 'examples/index.html')}">Examples</a>
      <a href="${relative(page, code)}">Code for this</a>
    </nav>`;
  const sheet = `<link rel="stylesheet" href="${relative(page, 'shared/example.css')}">`;
  const small = `<meta name="small-model" content="${relative(page, 'models/storyteller.gguf')}"
      data-words="Storyteller, 6.8 MB, comes with this site">`;
  const words = `<meta name="description" content="${escapeHtml(about.replaceAll('`', ''))}">`;
  return html
    .replace('<link rel="icon" href="data:,">', `${icon}\n    ${words}\n    ${small}`)
    .replace('</head>', `  ${sheet}\n    ${importMap(page, files)}\n  </head>`)
    .replace(/<body>/, `<body>\n    ${back}`)
    .replace('src="main.jsx"', 'src="main.js"');
}

/**
 * Files of an example that are not its page. JSX becomes one script of the same name, and a worker becomes one with all
 * that it imports, since import maps are for pages alone.
 */
async function copyExample({ files, name, page }, out, tools) {
  const isBuilt = (file) => /\/main\.jsx$|-worker\.js$/.test(file);
  for (const file of filesUnder(`examples/${name}`)) {
    if (file !== page && !file.endsWith('.jsx') && !isBuilt(file))
      fs.cpSync(path.join(ROOT, file), path.join(out, file));
  }
  for (const file of files.filter(isBuilt)) {
    const external = file.endsWith('.jsx') ? ['webgguf', 'webgguf/*', ...REACT] : [];
    const settings = { ...bundled(tools), jsx: 'automatic', external, absWorkingDir: ROOT };
    const outfile = path.join(out, file.replace(/\.jsx$/, '.js'));
    await build({ ...settings, entryPoints: [path.join(ROOT, file)], outfile });
  }
}

const bundled = (tools) => ({
  bundle: true,
  minify: true,
  format: 'esm',
  define: { 'process.env.NODE_ENV': '"production"' },
  nodePaths: [path.join(tools, 'node_modules')],
  logLevel: 'warning',
});

/** React and other packages as modules with the names that they export, from `tools`, where they are installed. */
async function writeLibraries(out, tools) {
  const folder = path.join(tools, 'modules');
  const require = createRequire(path.join(tools, 'package.json'));
  fs.rmSync(folder, { recursive: true, force: true });
  const names = [...REACT, ...LIBRARIES];
  for (const name of names) {
    const exported = REACT.includes(name) ? `{ ${Object.keys(require(name)).join(', ')} }` : '*';
    const file = path.join(folder, moduleOf(name));
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, `export ${exported} from '${name}';\n`);
  }
  await build({
    ...bundled(tools),
    entryPoints: names.map((name) => path.join(folder, moduleOf(name))),
    outbase: folder,
    outdir: out,
    chunkNames: 'examples/libraries/part-[hash]',
    splitting: true,
  });
}

const spans = (text) => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

function card(example, page) {
  const { about, runs, code, cost } = example;
  const title = escapeHtml(example.title);
  const open = runs
    ? `<a class="button main" href="${relative(page, example.page)}" aria-label="Open: ${title}"
      >Open</a>`
    : '';
  return `<li class="card example">
    <h2>${title}</h2>
    <p>${spans(about)}</p>
    <p class="hint">${runs ? escapeHtml(cost) : 'Runs from a clone'}</p>
    <p class="actions">${open}<a class="button" href="${relative(page, code)}" aria-label="Code for this: ${title}"
      >Code for this</a></p>
  </li>`;
}

function gallery(list, icon) {
  const page = 'examples/index.html';
  const cards = [...list.filter(({ runs }) => runs), ...list.filter(({ runs }) => !runs)]
    .map((example) => card(example, page))
    .join('\n');
  const about = 'Small pages that show one thing each. They run here, on your device, from files that you can read.';
  const body = `<h1>Examples</h1>\n<p>${about} Nothing is downloaded before a click.</p>\n<ul class="gallery">
${cards}\n</ul>`;
  return frame({ page, title: 'Examples · webgguf', about, body, icon });
}

function listing(file) {
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
  return `<h2 id="${file.replaceAll(/[^\w-]/g, '-')}">${escapeHtml(file.slice('examples/'.length))}</h2>
<div class="code" data-file="${escapeHtml(file)}"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`;
}

function codePage({ name, about, title, files, code, page, runs }, icon) {
  const uses = (shared) =>
    files.some((file) => fs.readFileSync(path.join(ROOT, file), 'utf8').includes(`../${path.basename(shared)}`));
  const all = [...files, ...SHARED.filter(uses)];
  const source = `<a href="${REPOSITORY}/tree/main/examples/${name}">the folder on GitHub</a>`;
  const open = runs ? `<a class="button main" href="${relative(code, page)}">Open</a>` : '';
  const how = runs
    ? 'These files run as they are in any project that installs the package. Here an import map stands in for that.'
    : 'It is built from a clone.';
  const body = `<h1>${escapeHtml(title)}: the code</h1>
<p>${spans(about)}. ${how} See ${source} and <a href="${relative(code, 'guides/first-page.html')}">First page</a>.</p>
<p class="actions">${open}<a class="button" href="${relative(code, 'examples/index.html')}">All examples</a></p>
${all.map(listing).join('\n')}`;
  return frame({
    page: code,
    title: `Code: ${title} · webgguf`,
    about: `The code of the example ${title}.`,
    body,
    icon,
  });
}

/**
 * Writes the gallery below `out`; `tools` is the folder where React and other packages are installed, `icon` the link
 * to the icon.
 */
export async function writeGallery(out, { tools, icon }) {
  const list = examples().map((each) => (each.files.length > 0 ? each : { ...each, files: [`examples/${each.name}`] }));
  const write = (page, html) => {
    fs.mkdirSync(path.dirname(path.join(out, page)), { recursive: true });
    fs.writeFileSync(path.join(out, page), html);
  };
  for (const file of SHARED) fs.cpSync(path.join(ROOT, file), path.join(out, file));
  await writeLibraries(out, tools);
  for (const example of list) {
    write(example.code, codePage(example, icon));
    if (!example.runs) continue;
    write(example.page, pageOf(example, icon));
    await copyExample(example, out, tools);
  }
  write('examples/index.html', gallery(list, icon));
}
