// Nothing here is about webgguf: the tests keep Next.js in a folder above this one.
import path from 'node:path';

export default { turbopack: { root: path.resolve(import.meta.dirname, '../..') } };
