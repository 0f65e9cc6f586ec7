/**
 * webgguf/models: the models of one page within one budget of GPU memory, such as an embedder, a reranker and a model
 * that writes. Each is loaded when it is first used; those that were used longest ago make room.
 *
 * @module webgguf/models
 */
export { models, Models } from './models.js';
export type * from './types.js';
