/**
 * Where what few templates use is entered once `rare.ts` is loaded: filters, methods of text, functions.
 */
import type { State } from './state.js';
import type { Budget, Callable, Value } from './values.js';

/** @internal */
export type Args = readonly Value[];
/** @internal */
export type Named = ReadonlyMap<string, Value>;
/** @internal */
export type Filter = (state: State, value: Value, args: Args, named: Named) => Value;
/** @internal */
export type Method<T> = (budget: Budget, value: T, args: Args, named: Named) => Value;

/** @internal */
export interface More {
  readonly filters: Readonly<Record<string, Filter>>;
  /** Methods of text. */
  readonly methods: Readonly<Record<string, Method<string>>>;
  readonly functions: Readonly<Record<string, (state: State) => Callable>>;
  /** `a + b` where one of them is safe: the other is escaped. */
  added(budget: Budget, a: Value, b: Value): Value;
  /** `text % values` */
  formatted(state: State, text: string, values: Value): string;
}

/** Stops a rendering that needs `rare.ts`, until it is loaded: the rendering then begins again. @internal */
export class NotLoaded extends Error {
  override readonly name = 'NotLoaded';
}

const registry: { more?: More } = {};

/** @internal */
export const enter = (more: More): void => {
  registry.more = more;
};

/** @internal */
export function more(): More {
  if (registry.more) return registry.more;
  throw new NotLoaded();
}

/** An argument by its place or its name. @internal */
export const given = (args: Args, named: Named, index: number, name: string, usual: Value): Value =>
  index < args.length ? args[index] : named.has(name) ? named.get(name) : usual;

/** The entry of this name. @internal */
export const own = <T>(entries: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(entries, name) ? entries[name] : undefined;
