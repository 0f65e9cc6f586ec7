/**
 * The shapes that go in and come out of the public functions.
 */
export type * from './types/source.js';
export type * from './types/load.js';
export type * from './types/info.js';
export type * from './types/generate.js';
export type * from './types/read.js';
export type * from './types/chat.js';
export type * from './types/media.js';
export type * from './types/speech.js';
