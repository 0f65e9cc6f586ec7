/**
 * JSON Schemas, also as libraries have them: what follows Standard Schema (zod, valibot, arktype) is converted.
 */
import { invalidArgument } from '../errors.js';

type Fields = Record<string, unknown>;

/** What Standard Schema has under `~standard`, and JSON Schema as an addition to it. */
interface Standard {
  readonly vendor?: unknown;
  readonly jsonSchema?: { input?(options: { target: string }): unknown };
}

const HOW =
  'convert it (z.toJSONSchema of zod 4, toJsonSchema of @valibot/to-json-schema, .toJsonSchema() of arktype, ' +
  'zod-to-json-schema for zod 3)';

/**
 * The JSON Schema of `given`: itself, or what the library makes of it that says how to convert it.
 *
 * @throws {WebggufError} `invalid_argument` where it is no JSON Schema and cannot be converted
 * @internal
 */
export function jsonSchemaOf(what: string, given: unknown): unknown {
  const { vendor, jsonSchema } = ((given as Fields | null | undefined)?.['~standard'] ?? {}) as Standard;
  if (!jsonSchema?.input) {
    if (vendor === undefined && isPlain(given)) return given;
    throw invalidArgument(`${what} is a schema of ${vendor ?? 'a library'}, no JSON Schema: ${HOW}`);
  }
  let schema: unknown;
  try {
    schema = jsonSchema.input({ target: 'draft-2020-12' });
  } catch (cause) {
    throw invalidArgument(`${what}: ${vendor} makes no JSON Schema of it: ${(cause as Error)?.message ?? cause}`);
  }
  // Where schemas are joined, one must not forbid what is in another.
  return JSON.stringify(schema).includes('"allOf"') ? schema : closed(schema);
}

/** Schemas of which what no grammar can follow is left out. */
const LENIENT = new WeakSet<object>();

/** Marks the schema of a tool's arguments: of one of many tools a whole request must not fail. @internal */
export function lenient(schema: object): object {
  LENIENT.add(schema);
  return schema;
}

/** A schema as the grammars take it. @internal */
export function schemaText(schema: unknown): string {
  const isLenient = typeof schema === 'object' && schema !== null && LENIENT.has(schema);
  return JSON.stringify(isLenient ? { ...schema, 'x-guidance': { lenient: true } } : schema);
}

/** JSON has no functions and no classes. */
function isPlain(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return typeof given !== 'function';
  const prototype: unknown = Object.getPrototypeOf(given);
  return (
    'toJSON' in given ||
    ((prototype === null || Array.isArray(given) || Object.getPrototypeOf(prototype) === null) &&
      !Object.values(given).some((value) => typeof value === 'function'))
  );
}

/** The objects of a converted schema have no other properties: libraries drop them, and a model may write no end. */
function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const entries = Object.entries(schema).map(([key, value]) => [key, DATA.includes(key) ? value : closed(value)]);
  const { type, properties, additionalProperties } = schema as Fields;
  const isOpen = type === 'object' && properties && additionalProperties === undefined;
  return Object.fromEntries(isOpen ? [...entries, ['additionalProperties', false]] : entries);
}

/** Keywords whose value is no schema. */
const DATA = ['const', 'enum', 'default', 'examples', 'required'];

/** Names that the schema of a tool's arguments has: of OpenAI's API, of the AI SDK and MCP, of Anthropic's API. */
const NAMES = ['parameters', 'inputSchema', 'input_schema'];

/**
 * The JSON Schema of a tool's arguments, under whichever name it has.
 *
 * @throws {WebggufError} `invalid_argument` where there are two that differ, or one is none
 * @internal
 */
export function parametersOf(what: string, tool: object): object | undefined {
  const fields = tool as Fields;
  const [first, ...others] = NAMES.filter((name) => fields[name] !== undefined && fields[name] !== null);
  if (first === undefined) return undefined;
  const schema = jsonSchemaOf(`${what}.${first}`, fields[first]);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw invalidArgument(`${what}.${first} must be a JSON Schema of an object, found ${JSON.stringify(schema)}`);
  }
  const text = JSON.stringify(schema);
  const other = others.find((name) => JSON.stringify(jsonSchemaOf(`${what}.${name}`, fields[name])) !== text);
  if (other) throw invalidArgument(`${what} has '${first}' and '${other}', which differ: give one`);
  return schema;
}

/** A function of a tool with its schema under one name, as templates read it. @internal */
export function withParameters<T extends object>(what: string, tool: T): T {
  const { inputSchema: _sdk, input_schema: _anthropic, ...others } = tool as Fields;
  const parameters = parametersOf(what, tool);
  return { ...others, ...(parameters && { parameters }) } as T;
}
