/**
 * JSON as Python reads it: whole numbers of any length, numbers with a point that are whole (`1.0`), and keys in their
 * order, also those that look like numbers. The result can be cloned: an object is a `Map`, a long whole number a
 * `bigint`, and a whole number with a point a `Number` object.
 */
/** Values nested deeper than this are refused. */
const DEEPEST = 64;
const TOKEN = /\s*(?:([[\]{},:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^\s[\]{},:"]+))/y;

/** The value of a text that is JSON. @internal */
export function exactJson(text: string): unknown {
  JSON.parse(text); // throws where it is none
  let at = 0;
  let depth = 0;
  const next = (): string => {
    TOKEN.lastIndex = at;
    const [all = '', sign, quoted, word] = TOKEN.exec(text) ?? [];
    at += all.length;
    return sign ?? quoted ?? word ?? '';
  };
  const list = (): unknown[] => {
    const items: unknown[] = [];
    for (let token = next(); token !== ']'; token = next()) if (token !== ',') items.push(value(token));
    return items;
  };
  const object = (): Map<string, unknown> => {
    const entries = new Map<string, unknown>();
    for (let token = next(); token !== '}'; token = next()) {
      if (token === ',') continue;
      next(); // the colon
      entries.set(JSON.parse(token) as string, value(next()));
    }
    return entries;
  };
  const value = (token: string): unknown => {
    if (token === '{' || token === '[') {
      depth += 1;
      if (depth > DEEPEST) throw new RangeError(`nested deeper than ${DEEPEST} levels`);
      const inner = token === '{' ? object() : list();
      depth -= 1;
      return inner;
    }
    const plain: unknown = JSON.parse(token);
    if (typeof plain !== 'number') return plain;
    if (/^-?\d+$/.test(token)) return Number.isSafeInteger(plain) ? plain : BigInt(token);
    return Number.isInteger(plain) ? Object(plain) : plain;
  };
  return value(next());
}

/** Whether plain data cannot hold a value that {@link exactJson} gave. @internal */
export function isExact(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isExact);
  if (!(value instanceof Map)) return typeof value === 'bigint' || value instanceof Number;
  return [...value].some(([key, item]) => /^\d+$|^__proto__$/.test(key) || isExact(item));
}
