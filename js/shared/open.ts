/**
 * Where a tab that has the seat opens the engine of all tabs.
 */
import { WorkerEngine } from '../engine/in-worker.js';
import { given, type Hosted, openHere, type ToOpen } from './seat.js';

/** In a worker, which goes on while the page's own thread stands still; service workers have none. @internal */
export async function open(wanted: ToOpen): Promise<Hosted> {
  const { source, options, ...hosting } = wanted;
  if (typeof Worker === 'undefined') {
    return openHere({ ...wanted, place: { ...wanted.place, engineIn: 'serviceWorker' } });
  }
  const engine = await WorkerEngine.load(source, options);
  try {
    return { ended: await engine.host(hosting), end: () => engine.end(given()) };
  } catch (error) {
    engine.end(error);
    throw error;
  }
}
