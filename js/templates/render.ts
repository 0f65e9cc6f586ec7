/**
 * Chat templates: the Jinja source in a GGUF file, rendered as Hugging Face's `apply_chat_template` does with Python's
 * jinja2 (https://jinja.palletsprojects.com/en/stable/templates/).
 *
 * A template is part of a hostile file: its size, its steps, its depth, and what it makes of text are bounded.
 */
import { WebggufError } from '../errors.js';
import type { ChatTemplate, Conversation } from './types.js';
import { formsOf } from './forms.js';
import { AtPlace, withLines } from './lexer.js';
import { more, NotLoaded } from './more.js';
import { parse } from './parser.js';
import { Scope, State } from './state.js';
import { textOf } from './text.js';
import {
  Budget,
  type Callable,
  fromData,
  integerOf,
  isMap,
  itemsOf,
  Namespace,
  Series,
  TemplateError,
  type Value,
} from './values.js';

/** Bytes that a template may have. */
const LONGEST_TEMPLATE = 1 << 20;
/**
 * Steps that a template may take: in any case, per message, per pair of messages, and per value in messages and tools.
 * Published ones take 50 to 200 per message; Gemma 4's looks back over the whole conversation at each message, with 4
 * steps per pair, and takes about 60 for each value in the schema of a tool.
 */
const STEPS = { always: 20_000, message: 2000, pair: 32, value: 600 };
/** Characters that a template may make on its way: in any case, and per character of its input and of itself. */
const CHARS = { always: 4 << 20, character: 64 };

/** Renders the conversation with the first form of its messages that the template takes. @internal */
export function renderConversation(template: ChatTemplate, conversation: Conversation, now = new Date()): string {
  const source = sourceOf(template);
  const render = placed(source, { at: 0 }, () => parse(source));
  let refusal: unknown;
  for (const messages of formsOf(conversation.messages)) {
    const state = stateOf(template, { ...conversation, messages }, now);
    try {
      return placed(source, state, () => {
        render(state);
        return state.out.join('');
      });
    } catch (error) {
      if (error instanceof NotLoaded) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}

function sourceOf({ source }: ChatTemplate): string {
  if (source === undefined) {
    throw new WebggufError(
      'invalid_argument',
      'the model has no chat template: give it text or ids, not messages (tokenizer.chat_template is missing and ' +
        '<|im_start|> is not a token)',
    );
  }
  if (source.length > LONGEST_TEMPLATE) {
    const message = `the chat template has ${source.length} characters, at most ${LONGEST_TEMPLATE} are allowed`;
    throw new WebggufError('invalid_argument', message);
  }
  return withLines(source);
}

/** Does `work` on a template. What goes wrong there, as deep recursion does, says where. */
function placed<T>(source: string, state: { at: number }, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof NotLoaded || error instanceof WebggufError) throw error;
    const before = source.slice(0, error instanceof AtPlace ? error.at : state.at).split('\n');
    const isDeep = error instanceof RangeError && /stack|recursion/.test(error.message);
    const why = isDeep ? 'it nests too deep' : (error as Error).message;
    const message = `line ${before.length}: ${why} (column ${(before.at(-1) ?? '').length + 1}${hint(source)})`;
    throw new WebggufError('invalid_argument', `chat template, ${message}`);
  }
}

/** Ollama keeps templates of Go's in files of its own. */
const hint = (source: string): string =>
  /\{\{-?\s*(?:(?:if|range|with|template|end)\b|\.\w)/.test(source)
    ? '; it is a template of Go, as Ollama has them: a GGUF file needs one in Jinja'
    : '';

function stateOf(template: ChatTemplate, conversation: Conversation, now: Date): State {
  const { messages, tools, variables: further } = conversation;
  const { values, chars } = sizeOf([messages, tools ?? [], further ?? {}]);
  const count = messages.length;
  const steps = STEPS.always + STEPS.message * count + STEPS.pair * count * count + STEPS.value * values;
  const budget = new Budget(steps, CHARS.always + CHARS.character * (chars + (template.source?.length ?? 0)));
  const scope = new Scope();
  const state = new State(budget, now, new Scope(scope));
  for (const [name, value] of variables(template, conversation, state)) scope.set(name, value);
  return state;
}

/** Values in plain data, and characters in their texts. */
function sizeOf(data: unknown): { values: number; chars: number } {
  if (typeof data === 'string') return { values: 1, chars: data.length };
  let [values, chars] = [1, 0];
  if (typeof data === 'object' && data !== null) {
    for (const [key, item] of data instanceof Map ? data : Object.entries(data)) {
      const inner = sizeOf(item);
      values += inner.values;
      chars += inner.chars + key.length;
    }
  }
  return { values, chars };
}

/** What the template sees; what it is always given is not for the caller to replace. */
function variables(template: ChatTemplate, conversation: Conversation, state: State): [string, Value][] {
  const { messages, tools, addGenerationPrompt = true, variables: further } = conversation;
  const functions: Record<string, Callable> = {
    range: (args) => range(state, args),
    namespace: (args, named) => new Namespace(dict(state, args, named)),
    dict: (args, named) => dict(state, args, named),
    raise_exception: ([message]) => {
      throw new TemplateError(textOf(state.budget, message));
    },
  };
  for (const name of ['strftime_now', 'cycler', 'joiner']) {
    functions[name] = (args, named) => more().functions[name]?.(state)(args, named);
  }
  return [
    ...Object.entries(functions),
    ['documents', null],
    ...Object.entries(further ?? {}).map(([name, value]): [string, Value] => [name, fromData(value)]),
    ['messages', fromData(messages)],
    ['tools', tools ? fromData(tools) : null],
    ['add_generation_prompt', addGenerationPrompt],
    ['bos_token', template.bos],
    ['eos_token', template.eos],
    ['unk_token', template.unknown],
    ['pad_token', template.padding],
  ];
}

function range({ budget }: State, args: readonly Value[]): Value {
  if (args.length === 0 || args.length > 3) throw new TemplateError('range: expected 1 to 3 numbers');
  const [a = 0, b, step = 1] = args.map((value) => integerOf(value, 'range: a number'));
  const [start, stop] = b === undefined ? [0, a] : [a, b];
  if (step === 0) throw new TemplateError('range: the step is 0');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  budget.list(length);
  const items = Array.from({ length }, (_, index) => start + index * step);
  return new Series('range', items, `range(${start}, ${stop}${step === 1 ? '' : `, ${step}`})`);
}

function dict({ budget }: State, [first]: readonly Value[], named: ReadonlyMap<string, Value>): Map<Value, Value> {
  const pairs = isMap(first) ? [...first] : itemsOf(budget, first).map((pair) => itemsOf(budget, pair));
  if (pairs.some((pair) => pair.length !== 2)) throw new TemplateError('dict: expected pairs of keys and values');
  budget.list(pairs.length + named.size);
  return new Map([...(pairs as [Value, Value][]), ...named]);
}
