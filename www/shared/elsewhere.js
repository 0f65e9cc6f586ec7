// Which addresses lead to other sites. An address of a page comes with a link, which anybody may have made: what it
// names is asked for nothing before a person has chosen that.

import { parseHubName } from '../../dist/load/hub.js';
import { wrong } from './address.js';

/** Whether another site than the page's own would be asked for a file; names on Hugging Face's hub are of another. */
export function isElsewhere(address) {
  if (typeof address !== 'string') return false;
  if (parseHubName(address)) return true;
  try {
    const { protocol, origin } = new URL(address, location.href);
    return protocol !== 'data:' && origin !== location.origin;
  } catch {
    return true;
  }
}

/** Throws where `addresses` has one of another site: a page that works as soon as it is opened asks its own alone. */
export function checkOwn(addresses) {
  for (const [name, address] of Object.entries(addresses)) {
    if (isElsewhere(address)) throw wrong(`'${name}' is on another site: ${address}; this page asks its own alone`);
  }
}
