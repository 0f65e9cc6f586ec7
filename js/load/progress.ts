/**
 * Progress of loading: the many small reports from Rust become a few useful ones.
 */
import type { Progress } from '../types/load.js';

/** Minimum time between two reports of one stage, in milliseconds: short enough for a smooth progress bar. */
const INTERVAL = 50;

const STAGES: readonly string[] = ['download', 'upload', 'compile', 'tune', 'ready'] satisfies Progress['stage'][];

/**
 * Returns the function that Rust calls. It throws once `signal` has fired, which ends loading there.
 * @internal
 */
export function progressReporter(
  onProgress: ((progress: Progress) => void) | undefined,
  signal: AbortSignal,
  now: () => number = () => performance.now(),
): (stage: string, loaded: number, total: number) => void {
  let lastStage = '';
  let lastTime = -Infinity;
  let lastLoaded = 0;
  return (stage, loaded, total) => {
    signal.throwIfAborted();
    if (!onProgress || !isStage(stage)) return;
    if (stage === 'ready' && lastStage === 'ready') return;
    const time = now();
    const edge = stage !== lastStage || loaded === total || (lastLoaded === 0 && loaded > 0);
    if (!edge && time - lastTime < INTERVAL) return;
    lastStage = stage;
    lastTime = time;
    lastLoaded = loaded;
    onProgress(progressOf(stage, loaded, total));
  };
}

function isStage(stage: string): stage is Progress['stage'] {
  return STAGES.includes(stage);
}

/** One report; a total of 0 means that it is not known, except at the end. */
function progressOf(stage: Progress['stage'], loaded: number, total: number): Progress {
  if (stage === 'ready') return { stage, loaded, total, fraction: 1 };
  if (!(total > 0)) return { stage, loaded, total: undefined, fraction: undefined };
  return { stage, loaded, total, fraction: Math.min(loaded / total, 1) };
}
