/**
 * Videos: only who has one loads these files.
 */
export { framesOf } from './frames.js';
export { isBare, layoutOfVideo } from './layout.js';
