/**
 * webgguf/decide: questions with a closed set of answers, and how likely each answer is, by any model that writes text.
 *
 * {@link decide} reads the input once and answers every question about it by the log-probabilities of the answers'
 * labels; nothing is written, so nothing has to be parsed. {@link systemOneFetch} is the same as a `fetch` for clients
 * of `/v1/systemone`.
 *
 * @module webgguf/decide
 */
export { calibrate, type CalibrateOptions, decide } from './decide.js';
export { systemOneFetch, type SystemOneOptions } from './system-one.js';
export type { ChatModel } from '../openai/chat-model.js';
export type * from './types.js';
