/**
 * Chat templates: the Jinja source in a GGUF file, rendered as Hugging Face's `apply_chat_template` does with Python's
 * jinja2 (https://jinja.palletsprojects.com/en/stable/templates/).
 *
 * A template is part of a hostile file: its size, its steps, its depth, and what it makes of text are bounded.
 */
import { WebggufError } from '../errors.js';
import type { ChatTemplate, Conversation } from './types.js';
import { formsOf } from './forms.js';
import { AtLine } from './lexer.js';
import { parse } from './parser.js';
import { Scope, State } from './state.js';
import type { Render } from './statements.js';
import { strftime } from './strftime.js';
import { Budget, type Callable, isMap, Namespace, TemplateError, textOf, type Value, fromData } from './values.js';

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
  const render = parsed(sourceOf(template));
  let refusal: unknown;
  for (const messages of formsOf(conversation.messages)) {
    const state = stateOf(template, { ...conversation, messages }, now);
    try {
      render(state);
      return state.out.join('');
    } catch (error) {
      refusal ??= templateError(error, state.line);
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
  return source;
}

function parsed(source: string): Render {
  try {
    return parse(source);
  } catch (error) {
    throw templateError(error, 1);
  }
}

function templateError(error: unknown, line: number): unknown {
  if (!(error instanceof TemplateError)) return error;
  const at = error instanceof AtLine ? error.line : line;
  return new WebggufError('invalid_argument', `chat template, line ${at}: ${error.message}`);
}

function stateOf(template: ChatTemplate, conversation: Conversation, now: Date): State {
  const { messages, tools } = conversation;
  const { values, chars } = sizeOf([messages, tools ?? []]);
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
    for (const [key, item] of Object.entries(data)) {
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
    namespace: (args, named) => namespace(args, named),
    dict: (args, named) => namespace(args, named).entries,
    raise_exception: ([message]) => {
      throw new TemplateError(textOf(state.budget, message));
    },
    strftime_now: ([format]) => {
      const text = textOf(state.budget, format);
      state.budget.text(16 * text.length);
      return strftime(state.date, text);
    },
  };
  return [
    ...Object.entries(functions),
    ...Object.entries(further ?? {}).map(([name, value]): [string, Value] => [name, fromData(value)]),
    ['messages', fromData(messages)],
    ['tools', tools ? fromData(tools) : null],
    ['documents', null],
    ['add_generation_prompt', addGenerationPrompt],
    ['bos_token', template.bos],
    ['eos_token', template.eos],
    ['unk_token', template.unknown],
    ['pad_token', template.padding],
  ];
}

function range({ budget }: State, args: readonly Value[]): Value {
  if (args.length === 0 || args.some((value) => typeof value !== 'number')) {
    throw new TemplateError('range: expected numbers');
  }
  const [a = 0, b, step = 1] = args as number[];
  const [start, stop] = b === undefined ? [0, a] : [a, b];
  if (step === 0) throw new TemplateError('range: the step is 0');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  budget.list(length);
  return Array.from({ length }, (_, index) => start + index * step);
}

function namespace(args: readonly Value[], named: ReadonlyMap<string, Value>): Namespace {
  const [first] = args;
  return new Namespace(new Map([...(isMap(first) ? first : []), ...named]));
}
