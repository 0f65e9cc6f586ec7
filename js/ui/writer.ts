/**
 * Texts and objects that a page shows while a model writes them. They know no framework.
 */
import { invalidArgument, WebggufError } from '../errors.js';
import { jsonSchemaOf } from '../model/schema.js';
import { schemaGuide } from '../model/schema-guide.js';
import type { WasmModel } from '../model/model.js';
import type { Message } from '../types/chat.js';
import type { GenerateOptions } from '../types/generate.js';
import type { SendOptions } from './chat.js';
import { partialJson } from './partial-json.js';
import { Store, type Writes } from './store.js';

/** How far what is written is. */
export interface WriterState {
  /** Whether it is being written, or could not be. */
  readonly status: 'idle' | 'writing' | 'error';
  /** Why not, nearly always a `WebggufError`; `undefined` unless `status` is `error`. */
  readonly error: Error | undefined;
}

/** What a page shows of a text. */
export interface CompletionState extends WriterState {
  /** The text so far. */
  readonly completion: string;
}

/** What a page shows of an object; T is what the schema describes. */
export interface ObjectState<T = unknown> extends WriterState {
  /** The object so far: parts that are not written yet are absent, and texts grow. */
  readonly object: Partial<T> | undefined;
}

/** What a page does with a text or an object. The functions are always the same ones. */
interface WriterActions {
  /** Ends it; what was written of it stays. */
  readonly stop: () => Promise<void>;
  /** Ends it and forgets it. */
  readonly clear: () => Promise<void>;
}

/** What a page does with a text. */
export interface CompletionActions extends WriterActions {
  /**
   * Writes a text: after a prompt as `generate` takes it. A text that is still being written is ended. Resolves when it
   * is over, also by an error, which is in `error`.
   */
  readonly complete: (prompt: string | readonly Message[], options?: CompletionOptions) => Promise<void>;
}

/** What a page does with an object. */
export interface ObjectActions extends WriterActions {
  /** Writes an object: what a text, or a conversation, asks for. Ends and resolves as `complete` of a text. */
  readonly submit: (input: string | readonly Message[]) => Promise<void>;
}

/** Options of `generate`, for every text. */
export type CompletionOptions = Omit<GenerateOptions, 'signal'>;

/** Options of an object: also fields of a request, such as `temperature` and `max_completion_tokens`. */
export interface ObjectOptions extends Omit<SendOptions, 'response_format' | 'tool_choice'> {
  /** JSON Schema of the object; also one of zod, valibot or arktype that can be converted. */
  schema: object;
  /** The system prompt. The model is told of the schema in any case. */
  system?: string | undefined;
}

/** One thing that is written after the other; the next ends the one before. */
abstract class Writer<S extends WriterState, O> extends Store<S> {
  #model: WasmModel | undefined;
  #options: O | undefined;
  #running: Promise<void> = Promise.resolve();
  #controller = new AbortController();

  configure(model: WasmModel | undefined, options: O): void {
    if (model !== this.#model) void this.stop();
    this.#model = model;
    this.#options = options;
  }

  readonly stop = (): Promise<void> => {
    this.#controller.abort();
    return this.#running;
  };

  readonly clear = async (): Promise<void> => {
    await this.stop();
    this.set({ ...this.empty, status: 'idle', error: undefined });
  };

  protected abstract readonly empty: Partial<S>;

  protected run(write: (model: WasmModel, options: O, signal: AbortSignal) => Promise<void>): Promise<void> {
    const before = this.stop();
    const { signal } = (this.#controller = new AbortController());
    const idle = { status: 'idle', error: undefined } as Partial<S>;
    this.#running = before.then(async () => {
      if (signal.aborted) return;
      this.set({ ...this.empty, ...idle, status: 'writing' });
      try {
        if (!this.#model) throw invalidArgument('there is no model yet');
        await write(this.#model, this.#options as O, signal);
        this.set(idle);
      } catch (error) {
        this.set(signal.aborted ? idle : ({ status: 'error', error: error as Error } as Partial<S>));
      }
    });
    return this.#running;
  }
}

/** @internal */
export class CompletionStore
  extends Writer<CompletionState, CompletionOptions>
  implements Writes<CompletionState, CompletionOptions, CompletionActions>
{
  protected readonly empty = { completion: '' };

  constructor() {
    super({ completion: '', status: 'idle', error: undefined });
  }

  readonly complete = (prompt: string | readonly Message[], more: CompletionOptions = {}): Promise<void> =>
    this.run(async (model, options, signal) => {
      for await (const { text } of model.generate(prompt, { ...options, ...more, signal })) {
        this.setSoon({ completion: this.state().completion + text });
      }
    });

  readonly actions: CompletionActions = { complete: this.complete, stop: this.stop, clear: this.clear };
}

/** @internal */
export class ObjectStore<T = unknown>
  extends Writer<ObjectState<T>, ObjectOptions>
  implements Writes<ObjectState<T>, ObjectOptions, ObjectActions>
{
  protected readonly empty = { object: undefined };

  constructor() {
    super({ object: undefined, status: 'idle', error: undefined });
  }

  readonly submit = (input: string | readonly Message[]): Promise<void> =>
    this.run(async (model, { schema: given, system, ...fields }, signal) => {
      const schema = jsonSchemaOf('schema', given) as object;
      const told = [system, schemaGuide(JSON.stringify(schema))].filter((text) => text !== undefined).join('\n\n');
      const asked: readonly Message[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
      const request = {
        ...fields,
        messages: [{ role: 'system', content: told }, ...asked],
        response_format: { type: 'json_schema' as const, json_schema: { name: 'answer', schema } },
        stream: true as const,
      };
      let text = '';
      for await (const { choices } of await model.chat.completions.create(request, { signal })) {
        const [choice] = choices;
        text += choice?.delta.content ?? '';
        this.setSoon({ object: partialJson(text) as Partial<T> | undefined });
        if (choice?.finish_reason !== 'length') continue;
        throw new WebggufError('limit_exceeded', `the object was cut off after ${text.length} characters`);
      }
      signal.throwIfAborted();
      this.setSoon({ object: JSON.parse(text) });
    });

  readonly actions: ObjectActions = { submit: this.submit, stop: this.stop, clear: this.clear };
}
