/**
 * Why a model runs on the CPU though nobody asked for that.
 */

/** What is read of WebGPU, for which TypeScript has no types. */
interface Gpu {
  requestAdapter(options: object): Promise<{ info?: { isFallbackAdapter?: boolean } } | null>;
}

/** A sentence for people, without a full stop. @internal */
export async function backendReason(): Promise<string> {
  // Node.js and its like have no such word.
  if (globalThis.isSecureContext === false) {
    return 'this page is not secure (http:), and browsers offer WebGPU on https: pages and localhost alone';
  }
  const { gpu } = (globalThis.navigator as (Navigator & { gpu?: Gpu }) | undefined) ?? {};
  if (!gpu) return 'there is no WebGPU here';
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter) return 'the browser offers no GPU adapter';
  return 'the only GPU adapter is a software one, on which a model is slower than on the CPU';
}
