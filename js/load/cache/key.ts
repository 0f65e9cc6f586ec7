/**
 * Under which name a model is kept.
 */
import { Sha256 } from './sha256.js';

/** Query parameters that sign a URL of Amazon's and Google's storage for some minutes: not part of a file's name. */
const SIGNATURE = /^x-(amz|goog)-/i;

/** The URL as a key: absolute, without its fragment and without signatures. @internal */
export function keyOfUrl(address: string): string {
  const url = new URL(address);
  url.hash = '';
  for (const name of [...url.searchParams.keys()]) if (SIGNATURE.test(name)) url.searchParams.delete(name);
  return url.href;
}

/** What is kept of a file's URL: without its query where the page named the model, as that may change. @internal */
export function addressOf(address: string, isNamed: boolean): string {
  const key = keyOfUrl(address);
  return isNamed ? key.replace(/\?.*$/s, '') : key;
}

/** The folder of a model: file systems differ in what they take as a name. @internal */
export function folderOf(key: string): string {
  return new Sha256().update(new TextEncoder().encode(key)).hex().slice(0, 32);
}
