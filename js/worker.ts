/**
 * The script of a worker: one model, whose engine it has. `worker-engine.ts` starts it and calls it.
 */
import { serve } from './engine/worker-side.js';

serve(globalThis as unknown as DedicatedWorker);

/** What this script needs of its global scope; the types of pages do not have it. */
interface DedicatedWorker {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}
