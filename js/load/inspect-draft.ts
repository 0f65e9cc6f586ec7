/**
 * What drafts for a model, by the header of its file: a smaller model, or a drafter that becomes a block of the model.
 */
import type { Inspection } from '../types/info.js';
import type { InspectOptions } from '../types/load.js';
import type { Source, SourceOptions } from '../types/source.js';
import type { inspect as ofHeader } from '../wasm/webgguf.js';
import { DRAFTERS } from './architecture.js';
import { openSources } from './sources.js';

type Ask = typeof ofHeader;
type Asked = Parameters<Ask>[1];

/** What is to be inspected, and how. @internal */
export interface AskedDraft {
  readonly draft: Source;
  readonly from: SourceOptions;
  /** The options that the WebAssembly takes. */
  readonly rest: InspectOptions;
  readonly scope: AbortSignal;
  readonly ofHeader: Ask;
  /** Inspects a file. */
  look(file: Source, from: SourceOptions, asked: Asked): Promise<Inspection>;
  /** Inspects the model by this function. */
  lookAtModel(ask: Ask): Promise<Inspection>;
}

/**
 * The inspection of what drafts, and the one of the model, with a drafter.
 *
 * @param found the inspection of the model alone
 * @internal
 */
export async function inspectDraft(
  found: Inspection | undefined,
  { draft, from, rest, scope, ofHeader, look, lookAtModel }: AskedDraft,
): Promise<{ draft: Inspection; found: Inspection | undefined }> {
  const { cacheKey: _, ...ofDraft } = from; // the key is the model's
  const { backend, kvType, parallel } = rest;
  const draftContext = found?.gpu?.contextLength ?? rest.contextLength;
  const asked = {
    ...(backend && { backend }),
    ...(kvType && { kvType }),
    ...(parallel && { parallel }),
    ...(draftContext && { draftContext }),
  };
  const alone = await look(draft, ofDraft, asked);
  if (!found || !DRAFTERS.includes(alone.architecture)) return { draft: alone, found };
  const both = await lookAtModel(async (sources, own) => {
    const others = await openSources(draft, scope, { ...ofDraft, cache: 'read' });
    try {
      return await ofHeader([...sources, ...others], { ...own, ownSources: sources.length });
    } finally {
      for (const part of others) part.cancel();
    }
  });
  const { supported, reason } = both;
  const { reason: _alone, ...file } = alone;
  return { draft: { ...file, supported, ...(reason && { reason }) } as Inspection, found: both };
}
