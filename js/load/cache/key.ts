/**
 * Under which name a model is kept.
 */
import { Sha256 } from './sha256.js';

/** Query parameters that sign a URL for some minutes or grant access: not part of a file's name. */
const SECRET = /^(x-(amz|goog)-.*|sig|signature|token|access_token)$/i;
/** Parts of signatures of Azure, CloudFront, and older ones of Amazon and Google; else they may mean a file. */
const SIGNED =
  /^(s[eprtv]|sip|spr|srt|ss|sk(oid|tid|[estv])|expires|policy|key-pair-id|awsaccesskeyid|googleaccessid)$/i;

/** The URL as a key: absolute, without its fragment, and without signatures and tokens. @internal */
export function keyOfUrl(address: string): string {
  const url = new URL(address);
  url.hash = '';
  const names = [...url.searchParams.keys()];
  const isSigned = names.some((name) => /^sig(nature)?$/i.test(name));
  const isSecret = (name: string): boolean => SECRET.test(name) || (isSigned && SIGNED.test(name));
  for (const name of names) if (isSecret(name)) url.searchParams.delete(name);
  return url.href;
}

/** A URL in messages: its query may grant access to the file. @internal */
export function shownUrl(address: string): string {
  return address.replace(/\?.*$/s, '?…').replace(/^(\w+:\/\/)[^/@]*@/, '$1');
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
