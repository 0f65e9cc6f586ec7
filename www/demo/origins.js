// Where models come from: the one that ships with the page, an address, a name on Hugging Face's hub, a file.

/**
 * @typedef {{source?: unknown, mmproj?: unknown, label: string, story?: boolean}} Origin `source` as for
 *   `WasmModel.load`, none for a file of an earlier visit, which has to be chosen again; `mmproj` of a model that sees
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

/**
 * A typed address, or a name on the hub, as an origin; nothing where it is none. `mmproj`: an address or name of its
 * encoder, or `auto` for the one beside it on the hub.
 */
export function originOf(text, mmproj) {
  try {
    const encoder = mmproj ? { mmproj: mmproj === 'auto' ? true : addressOf(mmproj) } : {};
    if (ON_HUB.test(text)) return { source: text, ...encoder, label: wholeName(text.split('/').pop()) };
    const url = new URL(text, location.href);
    const label = wholeName(decodeURIComponent(url.pathname.split('/').pop())) || text;
    return { source: url.href, ...encoder, label };
  } catch {
    return undefined;
  }
}

/** The site that an origin's model comes from. */
export function hostOf({ source }) {
  return ON_HUB.test(source) ? 'huggingface.co' : new URL(source).host;
}

/** Whether a model, or its encoder, comes from another site than the page. */
export const isForeign = ({ source, mmproj }) =>
  [source, mmproj].some(
    (each) => typeof each === 'string' && (ON_HUB.test(each) || new URL(each).origin !== location.origin),
  );

const addressOf = (text) => (ON_HUB.test(text) ? text : new URL(text, location.href).href);

/** Whether a name is that of a file with an encoder of images. */
export const isEncoder = (name) => /mmproj[^/]*\.gguf$/i.test(name);

/**
 * Files from the picker or a drop as an origin: one, or all parts of a split model, and its encoder. An encoder alone
 * goes with the model that is there, `now`.
 */
export function originOfFiles(files, now) {
  const mmproj = files.find(({ name }) => isEncoder(name));
  const parts = files.filter((file) => file !== mmproj);
  if (mmproj && parts.length === 0 && now?.source && !now.story) return { ...now, mmproj };
  if (parts.length === 0) return { source: mmproj, label: mmproj.name };
  const source = parts.length === 1 ? parts[0] : parts;
  return { source, ...(mmproj && { mmproj }), label: wholeName(parts[0].name) };
}

/** An origin as parameters of a link; nothing for the built-in model and for files of the device. */
export function linkOf({ source, mmproj, story }) {
  if (typeof source !== 'string' || story) return {};
  if (mmproj === true) return { model: source, mmproj: 'auto' };
  return { model: source, ...(typeof mmproj === 'string' && { mmproj }) };
}

/** How an origin is remembered: by address, or by the name of a file. */
export function whereFrom({ source, mmproj, label, story }) {
  if (story) return { builtIn: true };
  const encoder = typeof mmproj === 'string' || mmproj === true ? { mmproj } : {};
  return typeof source === 'string' ? { url: source, label, ...encoder } : { file: label };
}

/** The origin that `whereFrom` describes. */
export function originFrom({ builtIn, url, label, file, mmproj }) {
  if (builtIn) return BUILT_IN;
  const encoder = typeof mmproj === 'string' || mmproj === true ? { mmproj } : {};
  return url ? { source: url, label, ...encoder } : { label: file };
}

const keyOf = ({ source, label, story }) =>
  story ? 'built in' : typeof source === 'string' ? source : `file ${label}`;

export const isSame = (a, b) => keyOf(a) === keyOf(b);
