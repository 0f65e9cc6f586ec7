// The reference of the API: TypeDoc over js/, for every entry of the package.
//
// TypeDoc (0.28) is made for the compiler in JavaScript, up to TypeScript 6; the TypeScript 7 of the project is another
// program. So it has a TypeScript 6 of its own (tools.json), which reads the same language; the build is what checks.

import fs from 'node:fs';
import path from 'node:path';
import { filesUnder, readJson, ROOT, run, Stop } from '../common.mjs';
import { withSlashes } from '../system.mjs';
import { brand, pageLinks, relative, REPOSITORY } from './frame.mjs';

const ENTRIES = [
  '',
  'openai/',
  'anthropic/',
  'mcp/',
  'react/',
  'vue/',
  'svelte/',
  'prompt-api/',
  'ai-sdk/',
  'decide/',
  'models/',
  'voice/',
  'compute/',
  'training/',
];

/** What has to have a comment: all that a page can name, and the fields of options and results. */
const DOCUMENTED = [
  ...['Class', 'Interface', 'TypeAlias', 'Function', 'Variable', 'Enum', 'EnumMember'],
  ...['Method', 'CallSignature', 'Property', 'GetSignature'],
];

const OPTIONS = {
  tsconfig: 'tsconfig.json',
  entryPoints: ENTRIES.map((entry) => `js/${entry}index.ts`),
  name: 'webgguf',
  readme: 'tools/site/reference.md',
  customCss: 'tools/site/reference.css',
  // The build compiles js/, with another compiler and what it writes.
  skipErrorChecking: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeProtected: true,
  excludeExternals: true,
  disableGit: true,
  sourceLinkTemplate: `${REPOSITORY}/blob/main/{path}#L{line}`,
  hideGenerator: true,
  includeHierarchySummary: false,
  visibilityFilters: {},
  navigation: { includeFolders: false },
  requiredToBeDocumented: DOCUMENTED,
  validation: { notExported: false, invalidLink: true, invalidPath: true, rewrittenLink: true, notDocumented: true },
};

/** What needs no comment of its own: its type's has the words. */
const EXCUSED = [
  // Fields of an object that is written out in a type.
  /\.__type\b.* does not have any documentation/,
  // Its links are to pages that TypeDoc is about to write; the tests of the site follow them.
  /^\.\/tools\/site\/reference\.md:/,
  // Fields of a mapped type have no place: the sampler's options by their names in the OpenAI API.
  /defined in [^,]*\/, does not have any documentation/,
];

/** Lines of what TypeDoc prints that say what is wrong. */
export function faultsIn(output) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal
  const lines = output.replaceAll(/\x1b\[[0-9;]*m/g, '').split('\n');
  const warnings = lines.filter((line) => /\[(warning|error)\]/.test(line) && !/Found \d+ errors and/.test(line));
  return warnings.filter((line) => !EXCUSED.some((excuse) => excuse.test(line)));
}

/** Puts the site's links above a page that TypeDoc wrote, and marks what its text is. */
function withLinks(out, { page, icon }) {
  const file = path.join(out, page);
  const links = `<nav class="site-top" aria-label="Pages">${brand(page)}
  <span class="links">${pageLinks(page)}</span></nav>`;
  const sheet = `<link rel="stylesheet" href="${relative(page, 'shared/api-header.css')}">`;
  const html = fs
    .readFileSync(file, 'utf8')
    // A link within what opens and closes a section can be reached by nobody who cannot see it.
    .replace(/<summary[^]*?<\/summary>/g, (whole) => whole.replace(/<a [^>]*class="tsd-anchor-icon"[^]*?<\/a>/g, ''))
    .replace('</head>', `${icon}${sheet}</head>`)
    .replace(/<body[^>]*>/, (body) => body + links)
    .replace('<div class="col-content">', '<div class="col-content" role="main">')
    .replace('<div class="col-sidebar">', '<div class="col-sidebar" role="complementary" aria-label="Contents">');
  fs.writeFileSync(file, html);
}

/**
 * Writes the reference to `out`/api. Throws `Stop` with what TypeDoc found where a public name has no comment or a link
 * in one leads nowhere. `tools` is the folder where TypeDoc is installed, `icon` the link to the icon.
 */
export async function writeReference(out, { tools, icon }) {
  const options = path.join(tools, 'typedoc.json');
  const { version } = readJson(path.join(ROOT, 'package.json'));
  const absolute = (name) => path.join(ROOT, name);
  const given = {
    ...OPTIONS,
    name: `webgguf ${version}`,
    entryPoints: OPTIONS.entryPoints.map(absolute),
    ...Object.fromEntries(['tsconfig', 'readme', 'customCss'].map((key) => [key, absolute(OPTIONS[key])])),
    out: path.join(out, 'api'),
  };
  fs.writeFileSync(options, JSON.stringify(given, null, 2));
  const program = path.join(tools, 'node_modules', 'typedoc', 'bin', 'typedoc');
  const { code, output } = await run(process.execPath, [program, '--options', options], { quiet: true });
  const found = faultsIn(output);
  if (code !== 0 || found.length > 0) {
    const what = found.length > 0 ? found.join('\n') : output.trimEnd();
    throw new Stop(`the reference of the API is not complete:\n${what}`, 'write the comments that are missing in js/');
  }
  const pages = filesUnder(path.relative(ROOT, path.join(out, 'api'))).filter((file) => file.endsWith('.html'));
  for (const page of pages) withLinks(out, { page: withSlashes(path.relative(out, path.join(ROOT, page))), icon });
  return pages.length;
}
