// README.md, docs/, its records and the guides: the compiler checks their code against the package's types, their JSON
// parses, their links lead somewhere, the indices have all pages, and the page of errors has every code.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { CACHE, filesUnder, ROOT } from '../../tools/common.mjs';

const GUIDES = 'docs/guides';
const RECORDS = 'docs/records';
const pagesIn = (folder) =>
  fs
    .readdirSync(path.join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const DOCUMENTS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];
const PAGES = [...DOCUMENTS, ...['docs', GUIDES, RECORDS].flatMap(pagesIn)];
/** The repository's own address, which the README uses, since npm shows it, too. */
const OURS =
  /^https:\/\/(?:github\.com\/webgguf\/webgguf\/(?:blob|tree)|raw\.githubusercontent\.com\/webgguf\/webgguf)\/main\//;
/** The package by an address, which the compiler does not know. */
const FROM_ELSEWHERE =
  /'(\/webgguf|https:\/\/cdn\.jsdelivr\.net\/npm\/webgguf@[\d.]+\/dist)\/(?:index|webgguf\.min)\.js'/g;
const TSC = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const FOLDER = path.join(CACHE, 'guides');

/** What snippets share: names that a page has shown before, and what comes from elsewhere. */
const PREAMBLE = `
type WasmModel = import('webgguf').WasmModel;
declare const model: WasmModel;
declare const ears: WasmModel;
declare const voice: WasmModel;
declare const audio: string;
declare const session: import('webgguf').Session;
declare const client: import('webgguf/mcp').McpClient;
declare const url: string;
declare const text: string;
declare const review: string;
declare const values: string[];
declare const file: File;
declare const decodedFrames: VideoFrame[];
declare const controller: AbortController;
declare const pauseButton: HTMLButtonElement;
declare const messages: import('webgguf').Message[];
declare const chat: import('webgguf/react').Chat;
declare const tools: import('webgguf').Tool[];
declare const schema: { type: 'object'; properties: Record<string, object> };
declare const out: HTMLElement;
declare const bar: HTMLProgressElement;
declare const button: HTMLButtonElement;
declare function show(message: string): void;
declare const chrome: any;
declare const process: any;
/** A page knows the types of its elements. */
interface ParentNode { querySelector(selectors: string): any }
declare namespace JSX {
  interface IntrinsicElements {
    form: {
      action?: (data: FormData) => unknown;
      onSubmit?: (event: { currentTarget: HTMLFormElement; preventDefault(): void }) => unknown;
      [name: string]: any;
    };
    [name: string]: any;
  }
}
declare module 'react';
declare module 'node:fs';
declare module 'webgpu';
declare module 'npm:webgguf';
declare module 'openai';
declare module 'openai/realtime/websocket';
declare module '@anthropic-ai/sdk';
declare module '@typesafe-ai/sdk';
declare module 'zod';
declare module 'ai';
declare module '@langchain/openai';
declare module 'langchain';
declare module '@llamaindex/openai';
declare module '@mastra/core/agent';
declare module '@modelcontextprotocol/sdk/client/index.js' {
  export class Client {
    constructor(info: object);
    connect(transport: unknown): Promise<void>;
    listTools(): Promise<unknown>;
    callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
  }
}
declare module '@modelcontextprotocol/sdk/client/streamableHttp.js';
declare module '@openai/agents';
declare module '@orama/orama';
declare module '@instructor-ai/instructor';
declare module '@assistant-ui/react' {
  export function useLocalRuntime(adapter: {
    run(options: { messages: readonly any[]; abortSignal: AbortSignal }): AsyncGenerator<object>;
  }): unknown;
}
declare module '@electric-sql/pglite';
declare module '@electric-sql/pglite-pgvector';
declare module 'dexie' {
  export class Dexie {
    constructor(name: string);
    version(number: number): { stores(tables: object): void };
    table(name: string): { bulkAdd(rows: object[]): Promise<void>; toArray(): Promise<{ vector: Float32Array }[]> };
  }
}
declare module 'svelte/store' {
  export function writable<T>(value: T): { update(change: (value: T) => T): void };
}
declare module 'vue';
declare module '*?url' { const url: string; export default url }
declare module 'webgguf/webgguf_bg.wasm' { const url: string; export default url }
`;

const CONFIG = {
  compilerOptions: {
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    moduleDetection: 'force',
    lib: ['es2022', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    jsx: 'preserve',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    paths: Object.fromEntries([
      ['webgguf', [path.join(ROOT, 'dist', 'index.d.ts')]],
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
      ].map((entry) => [`webgguf/${entry}`, [path.join(ROOT, 'dist', entry, 'index.d.ts')]]),
    ]),
  },
  include: ['.'],
};

const read = (page) => fs.readFileSync(path.join(ROOT, page), 'utf8');

/** The fenced blocks of a page: language, text without its indentation, and the line before its first. */
function blocksOf(page) {
  const source = read(page);
  return [...source.matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)].map(({ 1: indent, 2: language, 3: body, index }) => ({
    page,
    language,
    line: source.slice(0, index).split('\n').length,
    text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

/** A block as the compiler takes it; of HTML its module scripts, each on the lines where they were. */
function programOf({ language, text }) {
  if (/^(js|ts|jsx|tsx)$/.test(language)) return text;
  if (language !== 'html') return undefined;
  const scripts = [...text.matchAll(/<script type="module">([^]*?)<\/script>/g)];
  const blank = (part) => part.replaceAll(/[^\n]/g, '');
  const program = scripts.map(({ 1: script, index }) => blank(text.slice(0, index)) + script).join('\n');
  return scripts.length > 0 ? program.replaceAll(FROM_ELSEWHERE, "'webgguf'") : undefined;
}

/** Anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(page) {
  const headings = [
    ...read(page)
      .replaceAll(/```[^]*?```/g, '')
      .matchAll(/^#+ +(.*)$/gm),
  ];
  return headings.map(({ 1: heading }) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** What a link leads to: a path of the repository and an anchor; nothing for other sites. */
function targetOf(page, link) {
  const [where, anchor] = link.split('#');
  if (OURS.test(where)) return { file: where.replace(OURS, ''), anchor };
  if (/^[a-z]+:/.test(where)) return undefined;
  return { file: where === '' ? page : path.join(path.dirname(page), where), anchor };
}

test('the compiler finds nothing wrong with the code of README.md and the guides', () => {
  fs.rmSync(FOLDER, { recursive: true, force: true });
  fs.mkdirSync(FOLDER, { recursive: true });
  const programs = PAGES.flatMap(blocksOf).map((block, i) => ({ ...block, i, program: programOf(block) }));
  const places = new Map();
  for (const { page, line, language, i, program } of programs.filter((block) => block.program !== undefined)) {
    const name = `snippet${i}.${/x$/.test(language) ? 'tsx' : 'ts'}`;
    places.set(name, { page, line });
    fs.writeFileSync(path.join(FOLDER, name), program);
  }
  assert.ok(places.size > 60, `${places.size} programs`);
  fs.writeFileSync(path.join(FOLDER, 'preamble.d.ts'), PREAMBLE);
  fs.writeFileSync(path.join(FOLDER, 'tsconfig.json'), JSON.stringify(CONFIG));
  const { stdout, stderr } = spawnSync(process.execPath, [TSC, '-p', FOLDER, '--pretty', 'false'], {
    cwd: FOLDER,
    encoding: 'utf8',
  });
  const inPages = (stdout + stderr).replaceAll(/^(\w+\.tsx?)\((\d+),\d+\)/gm, (whole, name, row) => {
    const place = places.get(name);
    return place ? `${place.page}:${place.line + Number(row)}` : whole;
  });
  assert.equal(inPages.trim(), '');
});

test("README's first program compiles by itself, as it would in an app", () => {
  const [program] = blocksOf('README.md').filter(({ language }) => language === 'ts');
  const folder = path.join(CACHE, 'guides-first');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'first.ts'), program.text);
  fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
  const { stdout } = spawnSync(process.execPath, [TSC, '-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
  assert.equal(stdout, '');
  assert.match(program.text, /load\('[\w-]+\/[\w.-]+:\w+'/, 'a model that every reader has');
});

test('blocks of JSON parse', () => {
  const blocks = PAGES.flatMap(blocksOf).filter(({ language }) => language === 'json');
  assert.ok(blocks.length > 0);
  for (const { page, line, text } of blocks) assert.doesNotThrow(() => JSON.parse(text), `${page}:${line}`);
});

test('links of README.md and the guides lead to files and headings that exist', () => {
  const lost = [];
  let count = 0;
  for (const page of PAGES) {
    const prose = read(page).replaceAll(/```[^]*?```/g, '');
    for (const [, link] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      const target = targetOf(page, link);
      if (!target) continue;
      count += 1;
      const isThere = fs.existsSync(path.join(ROOT, target.file));
      const isFound = isThere && (!target.anchor || anchorsOf(target.file).includes(target.anchor));
      if (!isFound) lost.push(`${page}: ${link}`);
    }
  }
  assert.ok(count > 60, `${count} links`);
  assert.deepEqual(lost, []);
});

test('the index of the guides and the README name every guide', () => {
  const names = PAGES.filter((page) => page.startsWith(`${GUIDES}/`)).map((page) => path.basename(page));
  const others = names.filter((name) => name !== 'README.md');
  for (const index of ['README.md', `${GUIDES}/README.md`]) {
    assert.deepEqual(
      others.filter((name) => !read(index).includes(`${name})`)),
      [],
      index,
    );
  }
});

test('the index of records names every record, newest first', () => {
  const names = pagesIn(RECORDS).map((page) => path.basename(page));
  const records = names.filter((name) => name !== 'README.md');
  const wrong = records.filter((name) => !/^\d{4}-\d\d-\d\d-[a-z\d-]+\.md$/.test(name));
  assert.deepEqual(wrong, []);
  const rows = read(`${RECORDS}/README.md`).matchAll(/^\| \d[^|]*\| \[[^\]]+\]\(([^)]+)\) \|$/gm);
  const listed = [...rows].map(([, name]) => name);
  assert.deepEqual(listed.toSorted(), records.toSorted());
  const dates = listed.map((name) => name.slice(0, '2026-11-24'.length));
  assert.deepEqual(dates, dates.toSorted().reverse());
});

test('the page of errors has every code, and no other', () => {
  const source = read('js/errors.ts');
  const codes = [...source.matchAll(/^ {2}(\w+): true,$/gm)].map(([, code]) => code);
  const rows = [...read(`${GUIDES}/errors-and-recovery.md`).matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);
  assert.ok(codes.length >= 14);
  assert.deepEqual(rows.toSorted(), codes.toSorted());
});

/** Names of the fields of an interface of js/types/. */
function fieldsOf(name) {
  const types = filesUnder('js/types').map(read).join('\n');
  const [, body] = new RegExp(`^export interface ${name} [^{]*\\{\\n([^]*?)^\\}`, 'm').exec(types);
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field]) => field);
}

test('the reference has every option', () => {
  const code = [...read(`${GUIDES}/reference.md`).matchAll(/`([^`\n]+)`/g)].map(([, span]) => span);
  const words = new Set(code.flatMap((span) => span.match(/\w+/g) ?? []));
  const interfaces = ['SourceOptions', 'LoadOptions', 'InspectOptions', 'GenerateOptions', 'SessionOptions'];
  const fields = [...interfaces, 'EmbedOptions', 'RankOptions', 'ChatTemplateOptions'].flatMap(fieldsOf);
  assert.ok(fields.length > 40, `${fields.length} fields`);
  assert.deepEqual(
    [...new Set(fields)].filter((field) => !words.has(field)),
    [],
  );
});

/** Methods of `Gpu` of all entries that the types have, and what `webgguf/training` exports besides. */
async function operations() {
  const { Gpu, ...others } = await import(pathToFileURL(path.join(ROOT, 'dist', 'training', 'index.js')).href);
  const declared = new Set(Object.keys(others).filter((name) => name !== 'Variable'));
  for (const folder of ['.', 'tensor', 'compute', 'training']) {
    for (const file of fs.readdirSync(path.join(ROOT, 'dist', folder)).filter((name) => name.endsWith('.d.ts'))) {
      const types = read(path.join('dist', folder, file));
      for (const [, name] of types.matchAll(/^ {4}(\w+)(?:<.*?>)?\(/gm)) declared.add(name);
    }
  }
  const names = Object.keys(others);
  for (let proto = Gpu.prototype; proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    names.push(...Object.getOwnPropertyNames(proto).filter((name) => name !== 'constructor'));
  }
  return [...new Set(names)].filter((name) => declared.has(name));
}

test('the table of operations and the guides have every operation on tensors', async () => {
  const names = await operations();
  assert.ok(names.length > 100 && names.includes('conv2d') && names.includes('AdamW'), names.join(' '));
  const wordsIn = (text) => new Set((text.match(/```[^]*?```|`[^`\n]+`/g) ?? []).join(' ').match(/\w+/g));
  for (const [where, known] of [
    ['the table', wordsIn(read('docs/operations.md'))],
    ['the guides', wordsIn(read(`${GUIDES}/tensors.md`) + read(`${GUIDES}/training.md`))],
  ]) {
    assert.deepEqual(
      names.filter((name) => !known.has(name)),
      [],
      where,
    );
  }
});
