/**
 * What is wrong with an event that was sent, as the event `error` has it.
 */
import { show } from '../../check.js';
import { WebggufError } from '../../errors.js';

/** @internal */
export class Refusal extends Error {
  readonly code: string;
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

/** A value of a field that cannot be. @internal */
export const wrongValue = (param: string, expected: string, found: unknown): Refusal =>
  new Refusal('invalid_value', `field '${param}' must be ${expected}, found ${show(found)}`, param);

/** What failed while an answer was given. @internal */
export function failureOf(error: unknown): { type: string; code: string; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof WebggufError ? error.code : 'internal';
  return { type: 'server_error', code: code === 'context_full' ? 'context_length_exceeded' : code, message };
}
