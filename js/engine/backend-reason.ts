/**
 * Why a model runs on the CPU though nobody asked for that.
 */

import { findAdapter } from './adapter.js';

/** A sentence for people, without a full stop. @internal */
export async function backendReason(): Promise<string> {
  // Node.js and its like have no such word.
  if (globalThis.isSecureContext === false) {
    return 'this page is not secure (http:), and browsers offer WebGPU on https: pages and localhost alone';
  }
  if (!(globalThis.navigator as { gpu?: object } | undefined)?.gpu) return 'there is no WebGPU here';
  if (!(await findAdapter())) return 'the browser offers no GPU adapter';
  return 'the only GPU adapter is a software one, on which a model is slower than on the CPU';
}
