// Where models come from: the one that ships with the page, an address, a name on Hugging Face's hub, a file.

/**
 * @typedef {{source?: unknown, label: string, story?: boolean}} Origin `source` as for `WasmModel.load`; none for a
 *   file of an earlier visit, which has to be chosen again
 */

/** @type {Origin} */
export const BUILT_IN = {
  source: new URL('models/storyteller.gguf', location.href).href,
  label: 'Storyteller',
  story: true,
};

/** The name without the number of a part. */
const wholeName = (name) => name.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '');

const REPOSITORY = String.raw`[\w-][\w.-]*\/[\w-][\w.-]*(@[\w.-]+)?`;
const ON_HUB = new RegExp(String.raw`^(hf:\S+|${REPOSITORY}:[\w.-]+)$`);

/** A typed address, or a name on the hub, as an origin; nothing where it is none. */
export function originOf(text) {
  if (ON_HUB.test(text)) return { source: text, label: wholeName(text.split('/').pop()) };
  try {
    const url = new URL(text, location.href);
    return { source: url.href, label: wholeName(decodeURIComponent(url.pathname.split('/').pop())) || text };
  } catch {
    return undefined;
  }
}

/** The site that an origin's model comes from. */
export function hostOf({ source }) {
  return ON_HUB.test(source) ? 'huggingface.co' : new URL(source).host;
}

/** Whether a model comes from another site than the page. */
export const isForeign = ({ source }) => ON_HUB.test(source) || new URL(source).origin !== location.origin;

/** Files from the picker or a drop as an origin: one, or all parts of a split model. */
export function originOfFiles(files) {
  return { source: files.length === 1 ? files[0] : files, label: wholeName(files[0].name) };
}

/** An origin as the parameter `model` of a link; nothing for the built-in model and for files of the device. */
export const linkOf = ({ source, story }) => (typeof source === 'string' && !story ? source : undefined);

/** How an origin is remembered: by address, or by the name of a file. */
export function whereFrom({ source, label, story }) {
  if (story) return { builtIn: true };
  return typeof source === 'string' ? { url: source, label } : { file: label };
}

/** The origin that `whereFrom` describes. */
export function originFrom({ builtIn, url, label, file }) {
  if (builtIn) return BUILT_IN;
  return url ? { source: url, label } : { label: file };
}

const keyOf = ({ source, label, story }) =>
  story ? 'built in' : typeof source === 'string' ? source : `file ${label}`;

export const isSame = (a, b) => keyOf(a) === keyOf(b);
