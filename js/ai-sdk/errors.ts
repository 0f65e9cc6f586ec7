/**
 * Errors that the AI SDK knows by their marks, without its package.
 */

/** `UnsupportedFunctionalityError` of `@ai-sdk/provider`. @internal */
export function unsupported(functionality: string): Error {
  return marked('AI_UnsupportedFunctionalityError', `'${functionality}' is not supported`, { functionality });
}

/** `NoSuchModelError`. @internal */
export function noSuchModel(modelId: string, modelType: string): Error {
  return marked('AI_NoSuchModelError', `webgguf has no ${modelType} '${modelId}'`, { modelId, modelType });
}

function marked(name: string, message: string, fields: object): Error {
  const marks = { [Symbol.for('vercel.ai.error')]: true, [Symbol.for(`vercel.ai.error.${name}`)]: true };
  return Object.assign(new Error(message), { name, ...fields, ...marks });
}
