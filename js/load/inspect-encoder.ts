/**
 * What the header of an encoder says.
 */
import { abortable } from '../cancel.js';
import { files } from '../engine/files.js';
import { invalidArgument } from '../errors.js';
import { openSources } from './sources.js';
import type { Inspection, InspectedEncoder } from '../types/info.js';
import type { Source, SourceOptions } from '../types/source.js';
import { giveNeeded } from '../wasm/give-needed.js';
import { wasmClasses } from '../wasm/instance.js';
import { beside } from '../media/encoders.js';

/** Inspects the encoder `mmproj` of the model `source`; no weight is downloaded. @internal */
export async function inspectEncoder(
  source: Source,
  mmproj: Source | true,
  from: SourceOptions,
  scope: AbortSignal,
): Promise<InspectedEncoder> {
  const { inspect } = await wasmClasses();
  // The key is the model's.
  const { cacheKey: _, ...others } = from;
  const file = mmproj === true ? await beside(await source, others, scope) : mmproj;
  const sources = await openSources(file, scope, { ...others, cache: 'read' });
  try {
    const { architecture, quantization, parameters, fileBytes }: Inspection = await abortable(
      inspect(sources, { fetch: (name) => giveNeeded(name, files) }),
      scope,
    );
    if (architecture !== 'clip') {
      throw invalidArgument(`option 'mmproj': a model of architecture ${architecture}, expected an encoder`);
    }
    return { fileBytes, ...(quantization && { quantization }), ...(parameters && { parameters }) };
  } finally {
    for (const part of sources) part.cancel();
  }
}
