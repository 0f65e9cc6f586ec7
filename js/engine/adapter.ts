/**
 * The GPU adapter that a model would get.
 */

/** What is read of an adapter, for which TypeScript has no types. @internal */
export interface FoundAdapter {
  readonly info?: { readonly isFallbackAdapter?: boolean };
}

interface Gpu {
  requestAdapter(options: object): Promise<FoundAdapter | null>;
}

/** How long a browser may take to answer, in milliseconds; see `request_device.js`. */
const PATIENCE = 15_000;

/** The adapter as the engine asks for it: with all of WebGPU, else in compatibility mode. Never throws. @internal */
export async function findAdapter(): Promise<FoundAdapter | null> {
  const { gpu } = (globalThis.navigator ?? {}) as { gpu?: Gpu };
  const ask = async (options: object): Promise<FoundAdapter | null> =>
    (await gpu?.requestAdapter({ powerPreference: 'high-performance', ...options })) ?? null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), PATIENCE);
  });
  const asked = ask({}).then((found) => found ?? ask({ featureLevel: 'compatibility' }));
  return Promise.race([asked.catch(() => null), late]).finally(() => clearTimeout(timer));
}
