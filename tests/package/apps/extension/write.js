/** The same text, whoever has the engine. */
export async function write(model) {
  const { text } = await model.generate('Once upon a time', { maxTokens: 12, temperature: 0, ignoreEos: true });
  return text;
}
