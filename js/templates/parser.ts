/**
 * Turns the parts of a template into functions that render it: what is read once runs as often as a loop asks.
 */
import { expressionOf, NONE_GIVEN, type Evaluate, TokenReader } from './expressions.js';
import { AtLine, type Part, partsOf, type Token } from './lexer.js';
import { forLoop, macroOf, type Parameter, type Render, sequence } from './statements.js';
import { Namespace, TemplateError } from './values.js';
import { filtered } from './filters.js';
import { type Assign, captured } from './state.js';

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
        if (ends.length === 0) return [sequence(renders), { word: '', reader: new TokenReader([], 0) }];
        throw new AtLine(opened, `expected ${ends.join(' or ')} before the end of the template`);
      }
      if (part.kind === 'text') {
        renders.push((state) => state.write(part.text));
        continue;
      }
      const { line } = part;
      if (this.#depth > DEEPEST_BLOCKS) throw new AtLine(line, `blocks nest deeper than ${DEEPEST_BLOCKS} levels`);
      const reader = new TokenReader(part.tokens, line);
      const word = part.kind === 'block' ? reader.peekName() : undefined;
      if (word !== undefined && ends.includes(word)) {
        reader.next();
        this.#depth -= 1;
        return [sequence(renders), { word, reader }];
      }
      const render = part.kind === 'print' ? printed(reader) : this.#statement(reader, part.tokens);
      renders.push((state) => {
        state.line = line;
        state.budget.step();
        render(state);
      });
    }
  }

  #statement(reader: TokenReader, tokens: readonly Token[]): Render {
    const word = reader.name();
    switch (word) {
      case 'if':
        return this.#if(reader);
      case 'for':
        return this.#for(reader);
      case 'set':
        return this.#set(reader);
      case 'macro':
        return this.#macro(reader);
      case 'call':
        return this.#call(reader);
      case 'filter':
        return this.#filter(reader);
      case 'with':
        return this.#with(reader);
      case 'do':
        return done(reader);
      case 'break':
      case 'continue':
        reader.end();
        return (state) => {
          state.leaving = word;
        };
      // Training frameworks mark the assistant's words with it.
      case 'generation':
      case 'block':
      case 'autoescape':
        if (word === 'generation') reader.end();
        return this.#ended(`end${word}`, reader.line);
      default:
        throw new AtLine(reader.line, `unknown or misplaced statement '${tokens[0]?.text ?? ''}'`);
    }
  }

  /** A body up to `end`. */
  #ended(end: string, line: number): Render {
    const [body, { reader }] = this.#body([end], line);
    if (end !== 'endblock' && end !== 'endmacro') reader.end();
    return body;
  }

  #if(reader: TokenReader): Render {
    const branches: [Evaluate, Render][] = [];
    let otherwise: Render | undefined;
    for (let test = ended(reader); ; ) {
      const [body, ending] = this.#body(['elif', 'else', 'endif'], reader.line);
      branches.push([test, body]);
      if (ending.word === 'elif') {
        test = ended(ending.reader);
        continue;
      }
      ending.reader.end();
      if (ending.word === 'else') otherwise = this.#ended('endif', reader.line);
      break;
    }
    return (state) => {
      const chosen = branches.find(([test]) => state.isTrue(test(state)))?.[1] ?? otherwise;
      chosen?.(state);
    };
  }

  #for(reader: TokenReader): Render {
    const target = targetOf(reader);
    reader.expectName('in');
    const items = reader.withoutCondition();
    const only = reader.skipName('if') ? expressionOf(reader) : undefined;
    const recursive = reader.skipName('recursive');
    reader.end();
    const [body, ending] = this.#body(['else', 'endfor'], reader.line);
    ending.reader.end();
    const otherwise = ending.word === 'else' ? this.#ended('endfor', reader.line) : undefined;
    return forLoop({ target, items, only, recursive, body, otherwise });
  }

  #set(reader: TokenReader): Render {
    const assign = targetOf(reader);
    if (reader.skip('=')) {
      const value = reader.tuple();
      reader.end();
      return (state) => assign(state, value(state));
    }
    const filters = reader.filters();
    reader.end();
    const body = this.#ended('endset', reader.line);
    return (state) => assign(state, filters(state, captured(state, body)));
  }

  #macro(reader: TokenReader): Render {
    const name = reader.name();
    const parameters = parametersOf(reader);
    reader.end();
    const body = this.#ended('endmacro', reader.line);
    return (state) => state.scope.set(name, macroOf(state, name, parameters, body));
  }

  #call(reader: TokenReader): Render {
    const parameters = reader.peek('(') ? parametersOf(reader) : [];
    const call = reader.callWith();
    reader.end();
    const body = this.#ended('endcall', reader.line);
    return (state) => state.print(call(state, new Map([['caller', macroOf(state, 'caller', parameters, body)]])));
  }

  #filter(reader: TokenReader): Render {
    const name = reader.name();
    const args = reader.peek('(') ? reader.arguments() : NONE_GIVEN;
    const more = reader.filters();
    reader.end();
    const body = this.#ended('endfilter', reader.line);
    return (state) => {
      const text = captured(state, body);
      state.print(more(state, filtered(state, name, text, ...args(state))));
    };
  }

  #with(reader: TokenReader): Render {
    const pairs: [Assign, Evaluate][] = [];
    while (!reader.atEnd()) {
      const target = targetOf(reader);
      reader.expect('=');
      pairs.push([target, expressionOf(reader)]);
      if (!reader.skip(',')) break;
    }
    reader.end();
    const body = this.#ended('endwith', reader.line);
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
  const value = reader.tuple();
  reader.end();
  return (state) => state.print(value(state));
}

function done(reader: TokenReader): Render {
  const value = reader.tuple();
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
