/**
 * What few templates use: it is fetched when a template first needs it, and entered in `more.ts`.
 */
import { formatted } from './format-percent.js';
import type { More } from './more.js';
import { added, FILTERS } from './rare-filters.js';
import { METHODS } from './rare-methods.js';
import type { State } from './state.js';
import { strftime } from './strftime.js';
import { textOf } from './text.js';
import { TEXT_FILTERS } from './text-filters.js';
import { type Callable, Namespace, TemplateError, type Value } from './values.js';

const strftimeNow =
  (state: State): Callable =>
  ([format]) => {
    const text = textOf(state.budget, format);
    state.budget.text(32 * text.length);
    return strftime(state.date, text);
  };

/** An object whose `next()` gives its values in turn. */
const cycler = (): Callable => (values) => {
  if (values.length === 0) throw new TemplateError('cycler: there is nothing to choose from');
  const fields = new Map<Value, Value>();
  let at = 0;
  const go = (place: number): void => {
    at = place % values.length;
    fields.set('current', values[at]);
  };
  fields.set('next', () => {
    const value = values[at];
    go(at + 1);
    return value;
  });
  fields.set('reset', () => {
    go(0);
    return null;
  });
  go(0);
  return new Namespace(fields);
};

/** Gives a separator from the second call on. */
const joiner = (): Callable => (args, named) => {
  const separator = args[0] ?? named.get('sep') ?? ', ';
  let isLater = false;
  return () => {
    const found = isLater ? separator : '';
    isLater = true;
    return found;
  };
};

const functions = { strftime_now: strftimeNow, cycler, joiner };
/** @internal */
export const MORE: More = { filters: { ...FILTERS, ...TEXT_FILTERS }, methods: METHODS, functions, formatted, added };
