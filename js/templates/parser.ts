/**
 * Turns the parts of a template into functions that render it: what is read once runs as often as a loop asks.
 */
import {
  argumentsIn,
  callIn,
  type Evaluate,
  expressionOf,
  filtersIn,
  iteratedIn,
  NONE_GIVEN,
  tupleIn,
} from './expressions.js';
import { AtPlace, type Part, partsOf } from './lexer.js';
import { forLoop, macroOf, type Parameter, type Render, sequence } from './statements.js';
import { TokenReader } from './token-reader.js';
import { type Callable, Namespace, TemplateError } from './values.js';
import { filtered } from './filters.js';
import { type Assign, captured, type State } from './state.js';

/** How deep blocks may nest, and how many `elif` one `if` may have. */
const DEEPEST_BLOCKS = 64;

/** @internal */
export function parse(source: string): Render {
  return new Parser(partsOf(source)).whole();
}

/** Where the body of a block ends. */
interface Ending {
  readonly word: string;
  readonly reader: TokenReader;
}

class Parser {
  #at = 0;
  #depth = 0;
  /** Loops around what is read, within the macro that it stands in. */
  #loops = 0;

  constructor(private readonly parts: readonly Part[]) {}

  whole(): Render {
    const [body] = this.#body([]);
    return body;
  }

  /** What stands up to a block that begins with one of `ends`; without any, up to the end of the template. */
  #body(ends: readonly string[], opened = 0): [Render, Ending] {
    const renders: Render[] = [];
    this.#depth += 1;
    for (;;) {
      const part = this.parts[this.#at];
      this.#at += 1;
      if (!part) {
        if (ends.length === 0) return [sequence(renders), { word: '', reader: new TokenReader([]) }];
        throw new AtPlace(opened, `expected ${ends.join(' or ')} before the end of the template`);
      }
      if (part.kind === 'text') {
        renders.push((state) => state.write(part.text));
        continue;
      }
      const { at } = part;
      if (this.#depth > DEEPEST_BLOCKS) throw new AtPlace(at, `blocks nest deeper than ${DEEPEST_BLOCKS} levels`);
      const reader = new TokenReader(part.tokens);
      const word = part.kind === 'block' ? reader.peekName() : undefined;
      if (word !== undefined && ends.includes(word)) {
        reader.next();
        this.#depth -= 1;
        return [sequence(renders), { word, reader }];
      }
      const render = part.kind === 'print' ? printed(reader) : this.#statement(reader, at);
      renders.push((state) => {
        state.at = at;
        state.budget.step();
        render(state);
      });
    }
  }

  #statement(reader: TokenReader, at: number): Render {
    const word = reader.name();
    switch (word) {
      case 'if':
        return this.#if(reader, at);
      case 'for':
        return this.#for(reader, at);
      case 'set':
        return this.#set(reader, at);
      case 'macro':
        return this.#macro(reader, at);
      case 'call':
        return this.#call(reader, at);
      case 'filter':
        return this.#filter(reader, at);
      case 'with':
        return this.#with(reader, at);
      case 'do':
        return done(reader);
      case 'break':
      case 'continue':
        reader.end();
        if (this.#loops === 0) throw new AtPlace(at, `'${word}' stands in no loop`);
        return (state) => {
          state.leaving = word;
        };
      // Training frameworks mark the assistant's words with it.
      case 'generation':
      case 'block':
        return this.#inner(reader, word, at);
      default:
        throw new AtPlace(at, `unknown or misplaced statement '${word}'`);
    }
  }

  /** A block whose variables are its own. */
  #inner(reader: TokenReader, word: string, at: number): Render {
    if (word === 'generation') reader.end();
    const body = this.#outside(() => this.#ended(`end${word}`, at));
    return (state) => state.inner(() => body(state));
  }

  /** Reads what no loop around it can be left from. */
  #outside(read: () => Render): Render {
    const loops = this.#loops;
    this.#loops = 0;
    const body = read();
    this.#loops = loops;
    return body;
  }

  /** A body up to `end`. */
  #ended(end: string, at: number): Render {
    const [body, { reader }] = this.#body([end], at);
    if (end !== 'endblock' && end !== 'endmacro') reader.end();
    return body;
  }

  #if(reader: TokenReader, at: number): Render {
    const branches: [Evaluate, Render][] = [];
    let otherwise: Render | undefined;
    for (let test = ended(reader); ; ) {
      const [body, ending] = this.#body(['elif', 'else', 'endif'], at);
      branches.push([test, body]);
      if (ending.word === 'elif') {
        test = ended(ending.reader);
        continue;
      }
      ending.reader.end();
      if (ending.word === 'else') otherwise = this.#ended('endif', at);
      break;
    }
    return (state) => {
      const chosen = branches.find(([test]) => state.isTrue(test(state)))?.[1] ?? otherwise;
      chosen?.(state);
    };
  }

  #for(reader: TokenReader, at: number): Render {
    const target = targetOf(reader);
    reader.expectName('in');
    const items = iteratedIn(reader);
    const only = reader.skipName('if') ? expressionOf(reader) : undefined;
    const recursive = reader.skipName('recursive');
    reader.end();
    this.#loops += 1;
    const [body, ending] = this.#body(['else', 'endfor'], at);
    this.#loops -= 1;
    ending.reader.end();
    const otherwise = ending.word === 'else' ? this.#ended('endfor', at) : undefined;
    return forLoop({ target, items, only, recursive, body, otherwise });
  }

  #set(reader: TokenReader, at: number): Render {
    const assign = targetOf(reader);
    if (reader.skip('=')) {
      const value = tupleIn(reader);
      reader.end();
      return (state) => assign(state, value(state));
    }
    const filters = filtersIn(reader);
    reader.end();
    const body = this.#ended('endset', at);
    return (state) => assign(state, filters(state, captured(state, body)));
  }

  #macro(reader: TokenReader, at: number): Render {
    const name = reader.name();
    const macro = this.#macroOf(name, reader, () => reader.end(), at);
    return (state) => state.scope.set(name, macro(state));
  }

  #call(reader: TokenReader, at: number): Render {
    let call: ReturnType<typeof callIn> | undefined;
    const caller = this.#macroOf(
      'caller',
      reader,
      () => {
        call = callIn(reader);
        reader.end();
      },
      at,
    );
    return (state) => state.print(call?.(state, new Map([['caller', caller(state)]])));
  }

  /** A macro, or what a call is given as one: its parameters, what `rest` reads of the tag, and its body. */
  #macroOf(name: string, reader: TokenReader, rest: () => void, at: number): (state: State) => Callable {
    const parameters = name !== 'caller' || reader.peek('(') ? parametersOf(reader) : [];
    rest();
    const from = this.#at;
    const body = this.#outside(() => this.#ended(name === 'caller' ? 'endcall' : 'endmacro', at));
    const tokens = this.parts.slice(from, this.#at).flatMap((part) => (part.kind === 'text' ? [] : part.tokens));
    const names = new Set(tokens.map(({ kind, text }) => (kind === 'name' ? text : '')));
    return (state) => macroOf(state, { name, parameters, names, body });
  }

  #filter(reader: TokenReader, at: number): Render {
    const name = reader.name();
    const args = reader.peek('(') ? argumentsIn(reader) : NONE_GIVEN;
    const more = filtersIn(reader);
    reader.end();
    const body = this.#ended('endfilter', at);
    return (state) => {
      const text = captured(state, body);
      state.print(more(state, filtered(state, name, text, ...args(state))));
    };
  }

  #with(reader: TokenReader, at: number): Render {
    const pairs: [Assign, Evaluate][] = [];
    while (!reader.atEnd()) {
      const target = targetOf(reader);
      reader.expect('=');
      pairs.push([target, expressionOf(reader)]);
      if (!reader.skip(',')) break;
    }
    reader.end();
    const body = this.#ended('endwith', at);
    return (state) => {
      const values = pairs.map(([, value]) => value(state));
      state.inner(() => {
        pairs.forEach(([assign], index) => assign(state, values[index]));
        body(state);
      });
    };
  }
}

/** The expression up to the end of the tag. */
function ended(reader: TokenReader): Evaluate {
  const value = expressionOf(reader);
  reader.end();
  return value;
}

function printed(reader: TokenReader): Render {
  const value = tupleIn(reader);
  reader.end();
  return (state) => state.print(value(state));
}

function done(reader: TokenReader): Render {
  const value = tupleIn(reader);
  reader.end();
  return (state) => void value(state);
}

/** What `for` and `set` give a value to: a name, `namespace.name`, or several names. */
function targetOf(reader: TokenReader): Assign {
  const first = oneTarget(reader);
  if (!reader.peek(',')) return first;
  const all = [first];
  while (reader.skip(',')) {
    if (reader.peek('=') || reader.peekName() === 'in') break;
    all.push(oneTarget(reader));
  }
  return unpacked(all);
}

function oneTarget(reader: TokenReader): Assign {
  if (reader.skip('(')) {
    const inside = targetOf(reader);
    reader.expect(')');
    return inside;
  }
  const name = reader.name();
  if (!reader.skip('.')) return (state, value) => state.scope.set(name, value);
  const field = reader.name();
  return (state, value) => {
    const found = state.lookUp(name);
    if (!(found instanceof Namespace)) throw new TemplateError(`'${name}' is no namespace, its fields cannot be set`);
    state.budget.list(1);
    found.entries.set(field, value);
  };
}

function unpacked(targets: readonly Assign[]): Assign {
  return (state, value) => {
    const items = state.items(value);
    if (items.length !== targets.length) {
      throw new TemplateError(`${items.length} values for ${targets.length} names`);
    }
    targets.forEach((assign, index) => assign(state, items[index]));
  };
}

function parametersOf(reader: TokenReader): Parameter[] {
  const parameters: Parameter[] = [];
  reader.expect('(');
  while (!reader.skip(')')) {
    const name = reader.name();
    parameters.push({ name, usual: reader.skip('=') ? expressionOf(reader) : undefined });
    if (!reader.peek(')')) reader.expect(',');
  }
  return parameters;
}
