/**
 * What puts texts into an answer while it is written.
 */
import type { Engine, Prompt } from '../engine/engine.js';
import type { GenerateOptions } from '../types/generate.js';
import { type Run, type Steer, steers } from './generation.js';
import { onDemand } from './on-demand.js';

/** What steers the text that is asked for with these options: who asks, or a bound for its thoughts. @internal */
export function steered(
  options: GenerateOptions,
  engine: Engine,
  prompt: () => Prompt,
): Pick<Run, 'steer' | 'steering'> {
  const { reasoningBudget: most } = options;
  const steering = async (): Promise<Steer | undefined> => {
    const asked = prompt();
    if (most === undefined || typeof asked === 'string' || !('messages' in asked)) return undefined;
    return (await onDemand.budget()).steerOf(engine, asked, most);
  };
  return { steer: steers.get(options), steering };
}
