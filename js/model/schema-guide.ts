/**
 * What a model is told of the JSON Schema that its answer follows: it writes better JSON where it knows what for.
 * Where that stands is a matter of the API: the AI SDK puts it into the system prompt, the Prompt API into the message.
 *
 * @internal
 */
export const schemaGuide = (schema: string): string => `Answer with JSON that follows this JSON Schema: ${schema}`;
