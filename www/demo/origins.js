// Where models come from: the one that ships with the page, an address, a name on Hugging Face's hub, a file.

import { parseHubName } from '../../dist/load/hub.js';
import { isElsewhere } from '../shared/elsewhere.js';
import { oneLine } from './one-line.js';

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

const HUB = 'huggingface.co';

/** A name on the hub in its parts; nothing where a text is an address, or no text. */
const onHub = (text) => (typeof text === 'string' ? parseHubName(text) : undefined);

/** The address of something that is not on the hub; nothing where it is none that a page can ask. */
function addressOf(text) {
  const url = new URL(text, location.href);
  return /^(https?|blob):$/.test(url.protocol) ? url : undefined;
}

/** A file that is loaded: its name on the hub or its whole address; throws where it is neither. */
const fileOf = (text) => (onHub(text) ? text : addressOf(text).href);

/** The last part of an address, as people read it. */
function lastPart({ pathname }) {
  const part = pathname.split('/').pop();
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // it has a % of its own
  }
}

/** What a name on the hub is called: with the owner, since anybody may have a repository of the same name. */
const hubLabel = ({ repo, file, quantization }) => file?.split('/').pop() ?? `${repo}:${quantization ?? 'any'}`;

/**
 * A typed address, or a name on the hub, as an origin; nothing where it is none. `mmproj`: an address or name of its
 * encoder, or `auto` for the one beside it on the hub.
 */
export function originOf(text, mmproj) {
  try {
    const encoder = mmproj ? { mmproj: mmproj === 'auto' ? true : fileOf(mmproj) } : {};
    const name = onHub(text);
    if (name) return { source: text, ...encoder, label: oneLine(wholeName(hubLabel(name))) };
    const url = addressOf(text);
    return { source: url.href, ...encoder, label: oneLine(wholeName(lastPart(url))) || oneLine(text) };
  } catch {
    return undefined;
  }
}

/**
 * A file that an origin names, as it is told to a person who is asked about it.
 * @typedef {{what: string, host: string, path: string, source: string | true}} NamedFile `path` is the file on the hub,
 *   with owner, repository and revision; of other sites it is the whole address
 */

/** @returns {NamedFile} */
function namedFile(what, source) {
  const name = onHub(source);
  if (!name) return { what, host: URL.canParse(source) ? new URL(source).host : '', path: source, source };
  const { repo, revision, file, quantization } = name;
  const at = revision === 'main' ? '' : `@${revision}`;
  const which = file ?? (quantization ? `the file of ${quantization}` : 'a file that the site chooses');
  return { what, host: HUB, path: `${repo}${at}/${which}`, source };
}

/**
 * The files of an origin that come from other sites than the page.
 * @returns {NamedFile[]}
 */
export function foreignFiles({ source, mmproj }) {
  const files = [];
  if (isElsewhere(source)) files.push(namedFile('Model', source));
  if (isElsewhere(mmproj)) files.push(namedFile('Encoder', mmproj));
  if (mmproj === true && onHub(source)) {
    const { repo } = onHub(source);
    files.push({ what: 'Encoder', host: HUB, path: `${repo}/an mmproj file that the site chooses`, source: true });
  }
  return files;
}

/** The hosts of files, each once. */
export const hostsOf = (files) => [...new Set(files.map(({ host }) => host))];

/** Whether two origins mean the same files, encoders included. */
export const hasSameFiles = (a, b) => isSame(a, b) && (a.mmproj ?? false) === (b.mmproj ?? false);

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
  if (parts.length === 0) return { source: mmproj, label: oneLine(mmproj.name) };
  const source = parts.length === 1 ? parts[0] : parts;
  return { source, ...(mmproj && { mmproj }), label: oneLine(wholeName(parts[0].name)) || 'a file' };
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
  return url ? { source: url, label: oneLine(label) || oneLine(url), ...encoder } : { label: oneLine(file) };
}

const keyOf = ({ source, label, story }) =>
  story ? 'built in' : typeof source === 'string' ? source : `file ${label}`;

export const isSame = (a, b) => keyOf(a) === keyOf(b);
