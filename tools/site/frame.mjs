// What the pages of the site share: header, links between them, and where a file of the repository is on the site.

import path from 'node:path';

export const REPOSITORY = 'https://github.com/webgguf/webgguf';

/** Pages of the header: name and place. */
const PAGES = [
  ['Demo', 'index.html'],
  ['Train', 'train.html'],
  ['Examples', 'examples/index.html'],
  ['Guides', 'guides/index.html'],
  ['API', 'api/index.html'],
  ['Device', 'device.html'],
];
/** Pages about the device at hand, which have a row of links of their own. */
const DEVICE_PAGES = [
  ['Does it run here?', 'device.html'],
  ['Kernels', 'kernels.html'],
  ['Answers', 'answers.html'],
  ['Speed', 'bench.html'],
  ['Results', 'results.html'],
];

const LOGO = `<svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
      <rect x="1" y="9" width="4" height="6" rx="1"/>
      <rect x="6" y="5" width="4" height="10" rx="1"/>
      <rect x="11" y="1" width="4" height="14" rx="1"/>
    </svg>`;

export const escapeHtml = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** From the folder of `page` to `target`, both paths on the site: an address that works wherever the site lies. */
export function relative(page, target) {
  const whole = path.posix.relative(path.posix.dirname(page), target);
  return whole.replace(/(^|\/)index\.html$/, '$1') || './'; // a host may redirect from the name to the folder
}

const isIn = (page, target) =>
  page === target || (target.endsWith('/index.html') && page.startsWith(path.posix.dirname(target)));

function links(page, list, current) {
  return list
    .map(([words, target]) => {
      const mark = current(target) ? ' aria-current="page"' : '';
      return `<a href="${relative(page, target)}"${mark}>${words}</a>`;
    })
    .join('\n    ');
}

/** The links of the header of `page`, without those about the device. */
export function pageLinks(page) {
  const isDevice = DEVICE_PAGES.some(([, target]) => target === page);
  return links(page, PAGES, (target) => isIn(page, target) || (isDevice && target === 'device.html'));
}

/** The row of links of a page about the device; empty for others. */
export function deviceLinks(page) {
  if (!DEVICE_PAGES.some(([, target]) => target === page)) return '';
  const list = links(page, DEVICE_PAGES, (target) => target === page);
  return `<nav class="tabs" aria-label="About this device">\n    ${list}\n  </nav>\n  `;
}

/** All links, for the demo's sidebar and welcome. */
export const allLinks = (page) =>
  `${links(page, [...PAGES.slice(1, -1), ...DEVICE_PAGES], () => false)}\n    <a href="${REPOSITORY}">Source</a>`;

/** The name, which leads to the first page. */
export const brand = (page) => `<a class="brand" href="${relative(page, 'index.html')}" aria-label="webgguf, start">
    ${LOGO}
    <span>webgguf</span>
  </a>`;

/** The header of `page`. */
const header = (page) => `<header class="top">
  ${brand(page)}
  <nav class="links" aria-label="Pages">
    ${pageLinks(page)}
  </nav>
</header>`;

/**
 * A whole page.
 * @param {{page: string, title: string, about: string, body: string, aside?: string, icon: string}} parts `page` is its
 *   path on the site, `body` and `aside` are HTML, `icon` the link to the icon
 */
export function frame({ page, title, about, body, aside = '', icon }) {
  const sheets = ['base', 'parts', 'page', 'prose'].map(
    (name) => `<link rel="stylesheet" href="${relative(page, `shared/${name}.css`)}">`,
  );
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="theme-color" content="#f6f2ea" media="(prefers-color-scheme: light)">
  <meta name="theme-color" content="#11161b" media="(prefers-color-scheme: dark)">
  <meta name="description" content="${escapeHtml(about)}">
  <title>${escapeHtml(title)}</title>
  ${icon}
  ${sheets.join('\n  ')}
  <script type="module" src="${relative(page, 'shared/copy-code.js')}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
${header(page)}
<div class="columns${aside ? ' has-aside' : ''}">
<main id="content" class="prose" tabindex="-1">
${body}
</main>
${aside}
</div>
</body>
</html>
`;
}
