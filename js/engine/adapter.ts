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

/** The adapter as the engine asks for it: with all of WebGPU, else in compatibility mode. Never throws. @internal */
export async function findAdapter(): Promise<FoundAdapter | null> {
  const { gpu } = (globalThis.navigator ?? {}) as { gpu?: Gpu };
  const ask = (options: object): Promise<FoundAdapter | null> =>
    gpu?.requestAdapter({ powerPreference: 'high-performance', ...options }).catch(() => null) ?? Promise.resolve(null);
  return (await ask({})) ?? (await ask({ featureLevel: 'compatibility' }));
}
