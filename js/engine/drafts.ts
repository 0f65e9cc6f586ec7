/**
 * Loads a model with what drafts for it: a smaller model beside it, or a drafter whose tensors become a block of it.
 */
import { guarded } from '../errors.js';
import { architectureOf, DRAFTERS } from '../load/architecture.js';
import { openSources, withSources } from '../load/sources.js';
import type { LoadSource } from '../load/source.js';
import type { Source } from '../types/source.js';
import type { DeviceHandle } from '../wasm/webgguf.js';
import type { Open, OpenModel, Wanted } from './load.js';
import { readOnce } from './recovery.js';

/** Loads a model and, on its device, what drafts for it. @internal */
export function withDraft(openModel: OpenModel, model: Wanted, draft: Wanted): Open {
  return async (scope, report, backend) => {
    const { source, architecture } = await lookedAt(draft, scope);
    if (DRAFTERS.includes(architecture)) {
      const { mtp: _, ...options } = model.options;
      const work: Wanted['work'] = (sources, start) =>
        withSources(source, draft.from, {
          signal: scope,
          work: (others) => start([...sources, ...others], sources.length),
          free: (made) => made.free(),
        });
      return openModel({ ...model, options, work }, scope, report, backend);
    }
    return withModel(openModel, [model, { ...draft, source }], ...([scope, report, backend] as const));
  };
}

/** Loads a model and, on its device, the draft model of speculative decoding. */
async function withModel(
  openModel: OpenModel,
  [model, draft]: readonly [Wanted, Wanted],
  ...[scope, report, backend]: Parameters<Open>
): ReturnType<Open> {
  const opened = await openModel(
    model,
    scope,
    (stage, ...counts) => stage === 'ready' || report(stage, ...counts),
    backend,
  );
  try {
    const { handle } = opened;
    const { backend: where, contextLength: draftContext } = handle.info();
    // On the CPU there is no speculative decoding.
    if (where === 'cpu') return opened;
    const device = (): DeviceHandle | undefined => guarded(() => handle.device());
    const wanted = { ...draft, options: { ...draft.options, draftContext }, device };
    const made = (await openModel(wanted, scope, report, 'webgpu')).handle;
    const { architecture, name, quantization, parameters, contextLength, gpuBytes } = made.info();
    guarded(() => handle.useDraft(made));
    return { ...opened, draft: { architecture, name, quantization, parameters, contextLength, gpuBytes } };
  } catch (error) {
    opened.free();
    throw error;
  }
}

/** The architecture of a file, and a source of all of it: what can be read only once is begun here. */
async function lookedAt(
  { source, from }: Wanted,
  scope: AbortSignal,
): Promise<{ source: Source; architecture: string | undefined }> {
  const isOnce = (await readOnce(source)) !== undefined;
  const sources = await openSources(source, scope, isOnce ? from : { ...from, cache: 'read', only: 'first' });
  try {
    const architecture = await architectureOf(sources[0] as LoadSource);
    if (isOnce) return { source: sources as unknown as Source, architecture };
    for (const part of sources) part.cancel();
    return { source, architecture };
  } catch (error) {
    for (const part of sources) part.cancel();
    throw error;
  }
}
