/**
 * What a file is, whether it runs here and how much memory it takes, by its header alone.
 */
import { abortable, cancellable } from '../cancel.js';
import { files } from '../engine/files.js';
import { pageFiles } from './page-files.js';
import { inspectOptions, splitSourceOptions } from '../options.js';
import type { Inspection } from '../types/info.js';
import type { InspectOptions } from '../types/load.js';
import type { Source, SourceOptions } from '../types/source.js';
import { giveNeeded, type NeededFiles } from '../wasm/give-needed.js';
import { wasmClasses } from '../wasm/instance.js';
import { openSources } from './sources.js';

/**
 * See {@link WasmModel.inspect}.
 * @internal
 */
export async function inspect(source: Source, options: InspectOptions): Promise<Inspection> {
  const { source: from, rest: others } = splitSourceOptions(inspectOptions(options));
  const { signal, mmproj, draft, memoryBytes, ...rest } = others;
  return cancellable(signal, async (scope) => {
    const { inspect: ofHeader } = await wasmClasses();
    const fetch = (name: keyof NeededFiles): Promise<void> => giveNeeded(name, files);
    type Asked = Parameters<typeof ofHeader>[1];
    const look = async (file: Source, of: SourceOptions, asked: Asked, ask = ofHeader): Promise<Inspection> => {
      const sources = await openSources(file, scope, { ...of, cache: 'read' });
      try {
        return await abortable(ask(sources, { ...asked, fetch }), scope);
      } finally {
        for (const part of sources) part.cancel();
      }
    };
    let found = memoryBytes === undefined ? await look(source, from, rest) : undefined;
    const beside: Pick<Inspection, 'draft' | 'encoder'> = {};
    if (draft) {
      const { inspectDraft } = await pageFiles.inspectDraft();
      const lookAtModel = (ask: typeof ofHeader): Promise<Inspection> => look(source, from, rest, ask);
      const asked = await inspectDraft(found, { draft, from, rest, scope, ofHeader, look, lookAtModel });
      found = asked.found;
      Object.assign(beside, { draft: asked.draft });
    }
    if (mmproj !== undefined) {
      const { inspectEncoder } = await pageFiles.inspectEncoder();
      Object.assign(beside, { encoder: await inspectEncoder(source, mmproj, from, scope) });
    }
    if (memoryBytes !== undefined) {
      const { advise } = await pageFiles.advice();
      const taken = (beside.draft?.fileBytes ?? 0) + (beside.encoder?.fileBytes ?? 0);
      const advised: typeof ofHeader = (sources, asked) => advise(sources, asked, { memoryBytes, taken }, ofHeader);
      found = await look(source, from, rest, advised);
    }
    return { ...(found as Inspection), ...beside };
  });
}
