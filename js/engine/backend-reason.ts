/**
 * Why a model runs on the CPU though nobody asked for that.
 */

/** A sentence for people, without a full stop. @internal */
export function backendReason(found: string | undefined): string {
  // Node.js and its like have no such word.
  if (globalThis.isSecureContext === false) {
    return 'this page is not secure (http:), and browsers offer WebGPU on https: pages and localhost alone';
  }
  if (!(globalThis.navigator as { gpu?: object } | undefined)?.gpu) return 'there is no WebGPU here';
  return found ?? 'the browser offers no GPU adapter';
}
