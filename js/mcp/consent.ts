/**
 * Consent to calls of tools.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { McpCall, OnToolCall } from './types.js';

/** Refuses tools that may change something where nobody is asked. @internal */
export function checkConsent(
  call: string,
  tools: readonly { readonly name: string; readonly readOnly: boolean }[],
  onToolCall: OnToolCall | undefined,
): void {
  if (typeof onToolCall === 'function') return;
  if (onToolCall !== undefined) {
    throw invalidArgument(`${call}: option 'onToolCall' must be a function, found ${show(onToolCall)}`);
  }
  const names = tools.filter(({ readOnly }) => !readOnly).map(({ name }) => `'${name}'`);
  if (names.length === 0) return;
  const hint = 'give a function that asks the user, or () => true';
  throw invalidArgument(
    `${call}: option 'onToolCall' is missing, and ${names.join(', ')} may change something: ${hint}`,
  );
}

/** Asks, and throws where the answer is no. @internal */
export async function consented(onToolCall: OnToolCall | undefined, call: McpCall): Promise<void> {
  const answer = onToolCall ? await onToolCall(call) : call.readOnly;
  if (answer === true) return;
  throw new Error(typeof answer === 'string' ? answer : `the user refused the call of '${call.name}'`);
}
