/**
 * Where the engine of a model runs: in this thread, in a worker, or in one worker for all tabs.
 */
import type { Engine } from '../engine/engine.js';
import { LocalEngine } from '../engine/local.js';
import { invalidArgument } from '../errors.js';
import type { ModelInfo } from '../types/info.js';
import type { LoadOptions } from '../types/load.js';
import type { Source } from '../types/source.js';
import { onDemand } from './on-demand.js';

/** Loads the engine by checked options, and says whether the template has tools. @internal */
export async function engineOf(
  source: Source,
  checked: LoadOptions,
): Promise<{ readonly engine: Engine; readonly tools: ModelInfo['tools'] }> {
  if (checked.gpu && checked.backend === 'cpu') {
    throw invalidArgument("load: option 'gpu' does not go with backend 'cpu'");
  }
  if (checked.gpu && checked.worker) {
    throw invalidArgument("load: option 'gpu' does not go with 'worker': a device belongs to one thread");
  }
  if (checked.draft && checked.backend === 'cpu') {
    throw invalidArgument("load: option 'draft' does not go with backend 'cpu', where no model drafts");
  }
  const place = checked.shared ? onDemand.shared() : checked.worker && onDemand.inWorker();
  const { adapters: _, ...others } = checked;
  // Where code cannot be fetched any more (a service worker), nothing is said about tools.
  const signs = onDemand.signs().catch(() => undefined);
  const Place = place ? (await place).WorkerEngine : LocalEngine;
  const engine = await Place.load(source, checked.shared ? checked : others);
  const template = engine.info.toolTemplate ?? engine.info.chatTemplate;
  const tools = template === undefined ? undefined : (await signs)?.toolsOf(template);
  return { engine, tools };
}
