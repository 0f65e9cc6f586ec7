/**
 * JSON Schemas as the grammars can follow them.
 *
 * Libraries write more into a schema than describes an answer: annotations, keywords that change nothing, and patterns
 * of JavaScript's regular expressions that no grammar has. The grammars refuse what they do not know, so that nothing
 * is silently wider than it was meant; what says nothing about the answer is taken out here.
 */

/** Formats that the grammars follow (llguidance 1.9); JSON Schema has all others as annotations. */
const FORMATS = new Set('date-time time date duration email hostname ipv4 ipv6 uuid uri'.split(' '));
/** What a pattern may not have: look-around, borders of words, references back. */
const UNKNOWN_PATTERN = /\(\?<?[=!]|\\[bB1-9]|\\k</;
/** Keywords whose values are names with a schema each. */
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
/** Keywords whose value is no schema and stays as it is. */
const DATA = ['const', 'enum', 'default', 'examples', 'required', 'x-guidance'];

type Schema = Record<string, unknown>;

/**
 * A copy without annotations and keywords that change nothing. `isLoose` also takes out what no grammar can follow, so
 * that the schema allows more than it says: for arguments of tools, of which a whole request must not fail.
 * @internal
 */
export function followable(schema: unknown, isLoose = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => followable(item, isLoose));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter((entry) => !changesNothing(schema as Schema, entry, isLoose));
  return Object.fromEntries(entries.map(([key, value]) => [key, inner(key, value, isLoose)]));
}

function inner(key: string, value: unknown, isLoose: boolean): unknown {
  if (DATA.includes(key)) return value;
  if (!NAMED.includes(key) || typeof value !== 'object' || value === null) return followable(value, isLoose);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, followable(schema, isLoose)]));
}

function changesNothing(schema: Schema, [key, value]: [string, unknown], isLoose: boolean): boolean {
  switch (key) {
    case 'format':
      return typeof value === 'string' && !FORMATS.has(value);
    case 'pattern': {
      // Where a format says the same in its way, the pattern adds nothing that a grammar could follow.
      const isKnown = typeof schema.format === 'string' && FORMATS.has(schema.format);
      return (isLoose || isKnown) && typeof value === 'string' && UNKNOWN_PATTERN.test(value);
    }
    case 'propertyNames':
      return isLoose || isAnyString(value);
    case 'uniqueItems':
      return value === false || isLoose;
    case 'dependentRequired':
    case 'dependentSchemas':
    case 'patternProperties':
      return isEmpty(value);
    case '$ref':
      return isLoose && typeof value === 'string' && !value.startsWith('#');
    case 'minimum':
      return isLoose && typeof schema.maximum === 'number' && (value as number) > schema.maximum;
    default:
      return false;
  }
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** Names of properties are strings anyway. */
function isAnyString(schema: unknown): boolean {
  if (schema === true) return true;
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.entries(schema).every(([key, value]) => key === 'type' && value === 'string');
}
