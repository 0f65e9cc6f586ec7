/**
 * Questions of other interfaces, whose texts may be JSON.
 */

/** Text as it is, and JSON in place of other values. @internal */
export const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : content == null ? '' : JSON.stringify(content);

/** The instructions and criteria of a question, as texts. @internal */
export function asTexts({ instructions, criteria }: { instructions?: unknown; criteria?: unknown }): {
  readonly instructions: string;
  readonly criteria: unknown;
} {
  const described = (about: unknown): string | null => (about == null ? null : textOf(about));
  const all = (): unknown =>
    Array.isArray(criteria)
      ? criteria.map(described)
      : Object.fromEntries(Object.entries(criteria as object).map(([name, about]) => [name, described(about)]));
  const isObject = typeof criteria === 'object' && criteria !== null;
  return { instructions: textOf(instructions), criteria: isObject ? all() : criteria };
}

/** 1 where one answer has all of the probability, 0 where all have the same. @internal */
export function confidenceIn(probabilities: Readonly<Record<string, number>>): number {
  const values = Object.values(probabilities);
  return Math.max(0, (values.length * Math.max(...values) - 1) / (values.length - 1));
}
