/**
 * What a rendering knows while it runs: variables, output, and what is left of its budget.
 */
import { textOf } from './text.js';
import { type Budget, isTrue, itemsOf, type Value } from './values.js';

/** Gives a value to a name. @internal */
export type Assign = (state: State, value: Value) => void;

/** Variables, and the variables of the scope around. @internal */
export class Scope {
  readonly #own = new Map<string, Value>();

  constructor(readonly outer?: Scope) {}

  set(name: string, value: Value): void {
    this.#own.set(name, value);
  }

  get(name: string): Value {
    return this.#own.has(name) ? this.#own.get(name) : this.outer?.get(name);
  }
}

/** @internal */
export class State {
  /** Where the tag that runs begins. */
  at = 0;
  /** Set by `break` and `continue`, until their loop has seen it. */
  leaving: 'break' | 'continue' | undefined;
  /** Macros that have called each other. */
  calls = 0;
  out: string[] = [];

  constructor(
    readonly budget: Budget,
    readonly date: Date,
    public scope: Scope,
  ) {}

  lookUp(name: string): Value {
    this.budget.step();
    return this.scope.get(name);
  }

  write(text: string): void {
    this.budget.text(text.length);
    this.out.push(text);
  }

  print(value: Value): void {
    this.write(textOf(this.budget, value));
  }

  isTrue(value: Value): boolean {
    return isTrue(value);
  }

  items(value: Value): Value[] {
    return itemsOf(this.budget, value);
  }

  /** Runs `work` with variables of its own, inside of `outer`. */
  inner<T>(work: () => T, outer = this.scope): T {
    const before = this.scope;
    this.scope = new Scope(outer);
    try {
      return work();
    } finally {
      this.scope = before;
    }
  }
}

/** What `body` writes. @internal */
export function captured(state: State, body: (state: State) => void): string {
  const before = state.out;
  state.out = [];
  try {
    body(state);
    return state.out.join('');
  } finally {
    state.out = before;
  }
}
