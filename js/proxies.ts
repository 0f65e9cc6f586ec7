/**
 * Instances behind a `Proxy`. Vue's `ref` and `reactive`, Alpine and wrappers of models call methods with the proxy as
 * `this`, which has no private members. So each instance says what it is, and each method asks for it first.
 */

/** A function, since Vue would wrap an object; the same symbol in all copies of this file. */
const SELF = Symbol.for('webgguf.self');

/** What a proxy stands for, as far as it is an instance of ours; anything else as it is. @internal */
export function original<T>(value: T): T {
  const self = (value as { [SELF]?: () => T } | null | undefined)?.[SELF];
  return typeof self === 'function' ? self() : value;
}

/** Notes what `instance` is; for constructors. Copies that libraries make of it still know the original. @internal */
export function knowItself(instance: object): void {
  const hidden = { configurable: true, writable: true };
  Object.defineProperty(instance, SELF, { ...hidden, value: () => instance });
  Object.defineProperty(instance, '__v_skip', { ...hidden, value: true }); // Vue leaves it alone
}

const done = new WeakSet<object>();

/**
 * Lets the methods of a class, and of its base classes, work on proxies of its instances, which have to
 * {@link knowItself}, and take such proxies as arguments.
 * @internal
 */
export function throughProxies({ prototype }: { prototype: object }): void {
  // The last level is `Object.prototype`, perhaps of another realm.
  for (let level = prototype; Object.getPrototypeOf(level) && !done.has(level); level = Object.getPrototypeOf(level)) {
    // The browser's own methods are the same for all pages.
    const isNative = level === globalThis.EventTarget?.prototype;
    if (!isNative) done.add(level);
    for (const name of Reflect.ownKeys(level)) {
      if (!isNative) wrap(level, level, name);
      else if (typeof name === 'string' && !Object.hasOwn(prototype, name)) wrap(level, prototype, name);
    }
  }
}

function wrap(level: object, place: object, name: PropertyKey): void {
  const property = Object.getOwnPropertyDescriptor(level, name);
  if (!property || name === 'constructor') return;
  for (const part of ['value', 'get', 'set'] as const) {
    const call = property[part] as ((...args: unknown[]) => unknown) | undefined;
    if (typeof call !== 'function') continue;
    property[part] = function (this: unknown, ...args: unknown[]) {
      return call.apply(original(this), args.map(original));
    };
  }
  Object.defineProperty(place, name, property);
}
