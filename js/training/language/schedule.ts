/**
 * How far each step goes.
 */

/** How the learning rate falls after the warm-up: along a cosine or a line to 0, or not at all. */
export type Schedule = 'cosine' | 'linear' | 'constant';

/** What a schedule is made of. */
export interface ScheduleOptions {
  /** The largest rate. */
  readonly learningRate: number;
  /** Share of the steps in which the rate rises from 0. */
  readonly warmUp: number;
  readonly schedule: Schedule;
}

/**
 * The learning rate of a step.
 *
 * @param step counted from 0
 * @param steps how many there are
 */
export function rateAt(step: number, steps: number, { learningRate, warmUp, schedule }: ScheduleOptions): number {
  const rising = Math.ceil(warmUp * steps);
  if (step < rising) return (learningRate * (step + 1)) / rising;
  if (schedule === 'constant') return learningRate;
  const done = (step - rising) / Math.max(1, steps - rising);
  return learningRate * (schedule === 'linear' ? 1 - done : (1 + Math.cos(Math.PI * done)) / 2);
}
