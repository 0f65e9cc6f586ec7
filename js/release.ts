/**
 * Which release of this package a script is of. `tools/build.mjs` adds a digest of the sources: threads whose releases
 * differ do not talk to each other, since messages between them may mean something else.
 */

/** The package's version. @internal */
export const RELEASE = '0.1.0';
