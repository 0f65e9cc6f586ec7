/**
 * How many tokens a request has.
 */
import type { WasmModel } from '../model/model.js';
import { prepare } from './prepare.js';
import type { ChatRequest } from './types.js';

/** Tokens of the prompt, with what the template writes around it. @internal */
export async function countOf(model: WasmModel, request: ChatRequest): Promise<number> {
  const { prompt } = await prepare(model, request);
  return model.session().count(prompt);
}
