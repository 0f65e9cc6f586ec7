// The guides and the documents in docs/ as pages of the site.

import fs from 'node:fs';
import path from 'node:path';
import { Marked, Renderer } from 'marked';
import { ROOT } from '../common.mjs';
import { escapeHtml, frame, relative, REPOSITORY } from './frame.mjs';

/** Repository addresses, which documents use that npm shows, too. */
const OURS =
  /^https:\/\/(?:github\.com\/webgguf\/webgguf\/(?:blob|tree)|raw\.githubusercontent\.com\/webgguf\/webgguf)\/main\//;
const FOLDERS = { 'docs/guides': 'guides', docs: 'docs' };

/** Places on the site by files of the repository. */
function places() {
  const found = new Map([['examples/README.md', 'examples/index.html']]);
  for (const [folder, place] of Object.entries(FOLDERS)) {
    for (const name of fs.readdirSync(path.join(ROOT, folder)).filter((file) => file.endsWith('.md'))) {
      const page = name === 'README.md' ? 'index.html' : name.replace(/\.md$/, '.html');
      found.set(`${folder}/${name}`, `${place}/${page}`);
    }
  }
  return found;
}

/** The anchor of a heading, as GitHub makes it; `seen` counts those of the page. */
export function anchorOf(heading, seen = new Map()) {
  const anchor = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  const nth = seen.get(anchor) ?? 0;
  seen.set(anchor, nth + 1);
  return nth === 0 ? anchor : `${anchor}-${nth}`;
}

/** Where a link of the document `file` leads to from its page on the site; `pictures` gets files to copy. */
function addressOf(file, href, { map, pictures }) {
  const page = map.get(file);
  const [where, anchor] = href.replace(OURS, '/').split('#');
  const end = anchor ? `#${anchor}` : '';
  if (/^[a-z]+:/.test(where) || where === '') return href;
  const target = where.startsWith('/') ? where.slice(1) : path.posix.join(path.posix.dirname(file), where);
  if (map.has(target)) return relative(page, map.get(target)) + end;
  if (/\.(png|webp|svg)$/.test(target)) {
    pictures.add(target);
    return relative(page, target);
  }
  return `${REPOSITORY}/blob/main/${target}${end}`;
}

/** A table; a head without words is no head. */
const tableOf = (renderer, token) =>
  Renderer.prototype.table.call(renderer, token).replaceAll(/<th([^>]*)><\/th>/g, '<td$1></td>');

/** Markdown of `file` as HTML, and its title. */
function render(file, context) {
  const seen = new Map();
  let title;
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const words = this.parser.parseInline(tokens);
        const id = anchorOf(text, seen);
        title ??= text.replaceAll('`', '');
        const mark = depth > 1 ? ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>` : '';
        return `<h${depth} id="${id}">${words}${mark}</h${depth}>\n`;
      },
      code({ text, lang }) {
        const label = lang ? `<span class="language">${escapeHtml(lang)}</span>` : '';
        return `<div class="code">${label}<pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>\n`;
      },
      table(token) {
        return `<div class="scroll" tabindex="0">${tableOf(this, token)}</div>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${escapeHtml(addressOf(file, href, context))}">${this.parser.parseInline(tokens)}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escapeHtml(addressOf(file, href, context))}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
    },
  });
  const body = marked.parse(fs.readFileSync(path.join(ROOT, file), 'utf8'));
  return { title, body };
}

/** Files of the guides in the order of their index, which comes first. */
function guidesInOrder(map) {
  const index = fs.readFileSync(path.join(ROOT, 'docs/guides/README.md'), 'utf8');
  const named = [...index.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, name]) => `docs/guides/${name}`);
  const others = [...map.keys()].filter((file) => file.startsWith('docs/guides/') && !named.includes(file));
  return [...others, ...named];
}

/** The list of all documents, beside or below each. */
function listOf(page, groups) {
  const rows = (list) =>
    list.map(({ title, place }) => {
      const mark = place === page ? ' aria-current="page"' : '';
      return `<li><a href="${relative(page, place)}"${mark}>${escapeHtml(title)}</a></li>`;
    });
  const parts = groups.map(([words, list]) => `<h2>${words}</h2>\n<ul>\n${rows(list).join('\n')}\n</ul>`);
  return `<nav class="aside" aria-label="Documents">\n${parts.join('\n')}\n</nav>`;
}

/** The first sentence of a text, for search engines. */
function aboutOf(body, title) {
  const [, first = ''] = /<p>([^]*?)<\/p>/.exec(body) ?? [];
  return (
    first
      .replaceAll(/<[^>]+>/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, 200) || title
  );
}

/** Writes the pages below `out`; `icon` is the link to the icon. Returns how many there are. */
export function writeGuides(out, icon) {
  const context = { map: places(), pictures: new Set() };
  const read = (file) => ({ ...render(file, context), place: context.map.get(file) });
  const guides = guidesInOrder(context.map).map(read);
  const others = [...context.map.keys()].filter((file) => /^docs\/[\w-]+\.md$/.test(file)).map(read);
  const groups = [
    ['Guides', guides],
    ['More', others],
  ];
  for (const { title, body, place } of [...guides, ...others]) {
    const file = path.join(out, place);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const parts = { page: place, title: `${title} · webgguf`, about: aboutOf(body, title), body, icon };
    fs.writeFileSync(file, frame({ ...parts, aside: listOf(place, groups) }));
  }
  for (const picture of context.pictures) fs.cpSync(path.join(ROOT, picture), path.join(out, picture));
  return guides.length + others.length;
}
