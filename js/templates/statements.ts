/**
 * Loops and macros.
 */
import { equals } from './compare.js';
import type { Evaluate } from './expressions.js';
import { type Assign, captured, type State } from './state.js';
import { type Callable, TemplateError, tupleOf, type Value } from './values.js';

/** Writes a part of a template. @internal */
export type Render = (state: State) => void;

type Named = ReadonlyMap<string, Value>;

/** How deep macros may call each other. */
const DEEPEST_CALLS = 64;

/** @internal */
export function sequence(renders: readonly Render[]): Render {
  return (state) => {
    for (const render of renders) {
      render(state);
      if (state.leaving) return;
    }
  };
}

interface Loop {
  readonly target: Assign;
  readonly items: Evaluate;
  readonly only: Evaluate | undefined;
  readonly recursive: boolean;
  readonly body: Render;
  readonly otherwise: Render | undefined;
}

/** @internal */
export function forLoop(loop: Loop): Render {
  return (state) => run(state, loop, loop.items(state), 1);
}

function run(state: State, loop: Loop, value: Value, depth: number): void {
  if (depth > DEEPEST_CALLS) throw new TemplateError(`a loop calls itself more than ${DEEPEST_CALLS} times`);
  const { target, only, body, otherwise } = loop;
  const items = state.items(value).filter((item) => {
    if (!only) return true;
    return state.inner(() => {
      target(state, item);
      return state.isTrue(only(state));
    });
  });
  if (items.length === 0) {
    otherwise?.(state);
    return;
  }
  const outer = state.scope;
  const again: Callable = ([inner]) => captured(state, () => run(state, loop, inner, depth + 1));
  /** What `loop.changed` saw last. */
  const seen: { last?: readonly Value[] } = {};
  for (let at = 0; at < items.length; at += 1) {
    state.budget.step();
    state.inner(() => {
      state.scope.set('loop', loopValue(state, items, at, depth, seen, loop.recursive ? again : undefined));
      target(state, items[at]);
      body(state);
    }, outer);
    const { leaving } = state;
    state.leaving = undefined;
    if (leaving === 'break') return;
  }
}

/** `loop`: a map of its fields, or where the loop is recursive a function that has them. */
function loopValue(
  state: State,
  items: readonly Value[],
  at: number,
  depth: number,
  seen: { last?: readonly Value[] },
  again: Callable | undefined,
): Value {
  const count = items.length;
  const cycle: Callable = (args) => {
    if (args.length === 0) throw new TemplateError('loop.cycle: there is nothing to choose from');
    return args[at % args.length];
  };
  const changed: Callable = (args) => {
    const same = seen.last !== undefined && equals(state.budget, seen.last, args);
    seen.last = args;
    return !same;
  };
  const fields: Record<string, Value> = {
    index: at + 1,
    index0: at,
    revindex: count - at,
    revindex0: count - at - 1,
    first: at === 0,
    last: at === count - 1,
    length: count,
    depth,
    depth0: depth - 1,
    previtem: items[at - 1],
    nextitem: items[at + 1],
    cycle,
    changed,
  };
  const map = new Map<Value, Value>(Object.entries(fields));
  return again
    ? Object.assign<Callable, { fields: Map<Value, Value> }>((...args) => again(...args), { fields: map })
    : map;
}

/** @internal */
export interface Parameter {
  readonly name: string;
  readonly usual: Evaluate | undefined;
}

/** @internal */
export interface Macro {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** All names in its body: what it says decides what it takes. */
  readonly names: ReadonlySet<string>;
  readonly body: Render;
}

/** A macro, defined where `state` is now. @internal */
export function macroOf(state: State, macro: Macro): Callable {
  const outer = state.scope;
  return (args, named) => {
    checkArguments(macro, args, named);
    state.calls += 1;
    if (state.calls > DEEPEST_CALLS) throw new TemplateError(`macros call each other more than ${DEEPEST_CALLS} deep`);
    const { at, leaving } = state;
    const text = state.inner(() => {
      bind(state, macro, args, named);
      return captured(state, macro.body);
    }, outer);
    state.calls -= 1;
    state.at = at;
    state.leaving = leaving;
    return text;
  };
}

function checkArguments({ name, parameters, names }: Macro, args: readonly Value[], named: Named): void {
  if (args.length > parameters.length && !names.has('varargs')) {
    throw new TemplateError(`macro '${name}' takes ${parameters.length} arguments, found ${args.length}`);
  }
  const isKnown = (key: string): boolean =>
    parameters.slice(args.length).some((each) => each.name === key) || (key === 'caller' && names.has('caller'));
  const unknown = [...named.keys()].find((key) => !isKnown(key));
  if (unknown !== undefined && !names.has('kwargs')) {
    throw new TemplateError(`macro '${name}' has no argument '${unknown}'`);
  }
}

function bind(state: State, { parameters, names }: Macro, args: readonly Value[], named: Named): void {
  const { scope } = state;
  const rest = new Map<Value, Value>(named);
  if (names.has('caller')) {
    scope.set('caller', named.get('caller'));
    rest.delete('caller');
  }
  parameters.forEach(({ name, usual }, index) => {
    const isGiven = index < args.length || named.has(name);
    const found = index < args.length ? args[index] : named.get(name);
    scope.set(name, isGiven || !usual ? found : usual(state));
    rest.delete(name);
  });
  if (names.has('varargs')) scope.set('varargs', tupleOf(args.slice(parameters.length)));
  if (names.has('kwargs')) scope.set('kwargs', rest);
}
