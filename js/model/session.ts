/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A conversation with a model: its messages, and a cache of its own of what the model has read of them.
 */
import { conversationOf, copyOf, hasMedia, nextTurn, roomForAnswer } from './conversation.js';
import type { Engine, Prompt, StartOptions } from '../engine/engine.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { Generation, type Turn } from './generation.js';
import { onDemand } from './on-demand.js';
import { show } from '../check.js';
import { sessionOptions } from '../options.js';
import { checkedGenerate, started, type TextWithMedia, textPrompt } from './prompt.js';
import { steered } from './steering.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { Queue } from './queue.js';
import type { Message, SessionOptions } from '../types/chat.js';
import type { GenerateOptions, GenerationResult } from '../types/generate.js';
import type { ModelInfo } from '../types/info.js';
import type { Conversation } from '../templates/types.js';

/** What a session needs of its model. @internal */
export interface SessionHost {
  readonly info: ModelInfo;
  readonly queue: Queue;
  /** The engines of sessions, which go with the model. */
  readonly engines: Set<Engine>;
  /** Sessions have no engines: requests run together on the engines of the model. */
  readonly shares: boolean;
  /** The model's own engine; throws where the model was freed. */
  use(call: string): Engine;
  /** Does `work` while no other request uses the model. */
  inTurn<T>(call: string, work: () => Promise<T>): Promise<T>;
}

/** What a fork or a restored session begins with. */
interface Begun {
  readonly engine: Engine | undefined;
  readonly tokens: number;
}

/** Frees the caches of sessions that a page has dropped without `free()`, once they are collected. */
const dropped = new FinalizationRegistry<{ host: SessionHost; engine: Engine }>(({ host, engine }) => {
  freeEngine(host, engine).catch(() => {}); // the model may have been freed
});

async function freeEngine(host: SessionHost, engine: Engine): Promise<void> {
  if (!host.engines.has(engine)) return;
  await host.inTurn('free', async () => {
    // The model may have been freed meanwhile, and the engine with it.
    if (host.engines.delete(engine)) await engine.free();
  });
}

/**
 * A conversation. Made by `model.session()`; several of one model share its weights, and what one has read another does
 * not read again. Requests to all of them queue, as those to the model do.
 *
 * @example
 * const session = model.session({ system: 'You answer briefly.' });
 * for await (const { text } of session.send('What is a hedgehog?')) out.textContent += text;
 * const other = await session.fork(); // goes on from here by itself
 */
export class Session {
  readonly #host: SessionHost;
  readonly #options: SessionOptions;
  #messages: readonly Message[];
  #engine: Engine | undefined;
  #tokens: number;
  #freed = false;

  /** @internal */
  constructor(host: SessionHost, options: SessionOptions, begun?: Begun) {
    if (!host) throw invalidArgument('new Session: a session is made by model.session()');
    knowItself(this);
    const { system, messages = [], ...rest } = sessionOptions(options);
    const first: Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
    this.#host = host;
    this.#options = rest;
    const all = [...first, ...messages];
    const nothing: Message = { role: 'user', content: '' };
    this.#conversation('session', all.length > 0 ? all : [nothing]); // checks the options
    this.#messages = copyOf('session', all);
    if (begun?.engine) this.#own(begun.engine);
    this.#tokens = begun?.tokens ?? 0;
  }

  /**
   * A copy of the conversation so far, the system prompt included; with `overflow: 'truncate'` without dropped turns.
   */
  get messages(): readonly Message[] {
    return copyOf('messages', this.#messages);
  }

  /** Tokens of the conversation after the last answer; 0 before the first. */
  get tokens(): number {
    return this.#tokens;
  }

  /**
   * Says something, and lets the model answer. Both become part of the conversation once the answer is over, also one
   * that was ended early; an error leaves the conversation as it was. Work starts at once, and what is asked for later,
   * such as {@link fork}, follows the answer.
   *
   * @param input a text, which is a message of the user; or a message or several, such as results of tools
   * @param options as for `generate`
   * @returns a {@link Generation}
   * @throws {WebggufError} as `generate`; `context_full` where the conversation is too long, unless `overflow` of the
   *   session is `truncate`
   */
  send(input: string | Message | readonly Message[], options: GenerateOptions = {}): Generation {
    const { signal, start, enableThinking } = checkedGenerate(options);
    const model = this.#use('send');
    const given = messagesOf(input);
    this.#conversation('send', given); // checks them
    const added = copyOf('send', given);
    let all: readonly Message[] = [];
    let asked: Prompt = '';
    const begin = async (turn: Turn): Promise<Engine> => {
      const kept = await fixed(added, turn.ending);
      await this.#fix(turn.ending);
      all = await this.#fitting(kept, options.maxTokens, turn.ending);
      const conversation = this.#conversation('send', all, enableThinking);
      asked = conversation;
      const shown = await this.#withMarksOfCalls(start);
      return started(await this.#open('send', conversation, shown, turn.ending), conversation, shown, turn);
    };
    const done = (result: GenerationResult): void => this.#note(all, result);
    const run = { queue: this.#host.queue, signal, owner: this, start: begin, done };
    return new Generation({ ...run, ...steered(options, model, () => asked) });
  }

  /** How many tokens these messages have in the model's template, with the session's tools. Default: all so far. */
  async countTokens(messages: readonly Message[] = this.#messages): Promise<number> {
    const engine = this.#use('countTokens');
    if (messages !== this.#messages) return engine.count(this.#conversation('countTokens', messages));
    if (messages.length === 0) return 0;
    await this.#fix();
    return engine.count(this.#conversation('countTokens', this.#messages));
  }

  /** Fetches what messages of the conversation name by an address: once, since it may be gone later. */
  async #fix(signal?: AbortSignal): Promise<void> {
    const before = this.#messages;
    const after = await fixed(before, signal);
    if (this.#messages === before) this.#messages = after;
  }

  /**
   * Writes text after a prompt, with the session's cache; the conversation stays as it is.
   *
   * @param prefix the end of the prompt, which is the beginning of what follows the grammar
   * @internal
   */
  complete(text: string | TextWithMedia, options: GenerateOptions, prefix = ''): Generation {
    const prompt = textPrompt(text);
    const { signal, start } = checkedGenerate(options);
    this.#use('generate');
    const grammar = start.grammar && { ...start.grammar, prefix };
    const begin = async (turn: Turn): Promise<Engine> => {
      const options = { ...start, ...(grammar && { grammar }) };
      return started(await this.#open('generate', prompt, options, turn.ending), prompt, options, turn);
    };
    return new Generation({ queue: this.#host.queue, signal, owner: this, start: begin });
  }

  /** How many tokens a prompt has, BOS included where the model wants it. @internal */
  async count(prompt: string | TextWithMedia): Promise<number> {
    return this.#use('countTokens').count(textPrompt(prompt));
  }

  /**
   * Another session that goes on from here, once requests made before are done: with a copy of the conversation and of
   * what the model has read of it.
   *
   * @throws {WebggufError} `out_of_memory`, `device_lost`, `invalid_argument`
   */
  async fork(): Promise<Session> {
    this.#use('fork');
    return this.#host.inTurn('fork', async () => {
      const engine = await this.#engine?.another(true);
      const options = { ...this.#options, messages: this.#messages };
      return new Session(this.#host, options, { engine, tokens: this.#tokens });
    });
  }

  /**
   * The session as bytes, once requests made before are done: its conversation and options and, on the GPU, what the
   * model has read of it. {@link WasmModel.restoreSession} makes a session of them.
   *
   * @throws {WebggufError} `out_of_memory`, `device_lost`, `limit_exceeded`, `invalid_argument`
   */
  async save(): Promise<Blob> {
    this.#use('save');
    return this.#host.inTurn('save', async () => {
      const engine = await this.#open('save');
      const media = hasMedia(this.#messages) && (await onDemand.messages());
      const messages = media ? await media.savedMedia(this.#messages) : this.#messages;
      const options = { ...this.#options, messages };
      // What others have read in the same caches is none of the session's.
      const said = this.#messages;
      const text = said.length > 0 ? this.#conversation('save', said) : new Uint32Array();
      const notes = JSON.stringify({ options, tokens: this.#tokens });
      return this.#host.shares ? engine.save(notes, text) : engine.save(notes);
    });
  }

  /** The session that {@link save} made `saved` of. @internal */
  static async restore(host: SessionHost, saved: Blob): Promise<Session> {
    if (!(saved instanceof Blob)) {
      throw invalidArgument(`restoreSession: expected a Blob, found ${show(saved)}`);
    }
    return host.inTurn('restoreSession', async () => {
      const { engine, notes } = await host.use('restoreSession').restore(saved);
      const own = host.shares ? undefined : engine;
      try {
        const { options, tokens } = JSON.parse(notes);
        return new Session(host, options, { engine: own, tokens: Number(tokens) });
      } catch (cause) {
        await own?.free();
        throw new WebggufError('bad_file', 'the saved session holds no conversation', { cause });
      }
    });
  }

  /** Frees the session's cache, once requests made before are done; the model stays. Freeing twice does nothing. */
  async free(): Promise<void> {
    if (this.#freed) return;
    this.#freed = true;
    dropped.unregister(this);
    if (this.#engine) await freeEngine(this.#host, this.#engine);
  }

  /** `await using session = …` frees it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.free();
  }

  #use(call: string): Engine {
    const model = this.#host.use(call);
    if (this.#freed) throw invalidArgument(`${call}: the session was freed`);
    return model;
  }

  /**
   * The session's engine, which is made when it is first needed: it takes memory for a cache. Where requests run
   * together, it is the model's for a request: the one that has read most of the prompt.
   */
  async #open(call: string, prompt?: Prompt, start?: StartOptions, signal?: AbortSignal): Promise<Engine> {
    const model = this.#use(call);
    if (this.#host.shares) return prompt === undefined ? model : model.lane(prompt, start?.adapters, signal);
    if (this.#engine) return this.#engine;
    const engine = await model.another(false);
    if (this.#freed) await engine.free();
    this.#use(call);
    return this.#own(engine);
  }

  #own(engine: Engine): Engine {
    this.#engine = engine;
    this.#host.engines.add(engine);
    dropped.register(this, { host: this.#host, engine }, this);
    return engine;
  }

  #conversation(call: string, messages: readonly Message[], thinks = this.#options.enableThinking): Conversation {
    const { tools, chatTemplateKwargs, parseSpecial } = this.#options;
    return conversationOf(call, messages, { tools, enableThinking: thinks, chatTemplateKwargs, parseSpecial });
  }

  /** Shows the control tokens around calls: without them a call looks like a text of the model. */
  async #withMarksOfCalls(start: StartOptions): Promise<StartOptions> {
    if (!this.#options.tools?.length) return start;
    const { chatTemplate, toolTemplate } = this.#host.info;
    const { marksOfCalls } = await onDemand.families();
    return { ...start, showSpecial: [...(start.showSpecial ?? []), ...marksOfCalls(toolTemplate ?? chatTemplate)] };
  }

  /** The messages with `added`; where that leaves no room for an answer, without the oldest turns, if asked. */
  async #fitting(
    added: readonly Message[],
    maxTokens: number | undefined,
    signal: AbortSignal,
  ): Promise<readonly Message[]> {
    let kept = this.#messages;
    if (this.#options.overflow !== 'truncate') return [...kept, ...added];
    const engine = this.#use('send');
    const { contextLength } = this.#host.info;
    const answer = roomForAnswer(contextLength, maxTokens);
    for (;;) {
      const all = [...kept, ...added];
      const count = await engine.count(this.#conversation('send', all), signal);
      const fewer = count + answer <= contextLength ? undefined : withoutOldestTurn(kept);
      if (!fewer) return all;
      kept = fewer;
    }
  }

  /** Takes what was asked and answered as the conversation. */
  #note(all: readonly Message[], { text, finishReason, usage }: GenerationResult): void {
    if (finishReason === 'abort' && text === '') return;
    this.#messages = [...all, { role: 'assistant', content: text }];
    this.#tokens = usage.totalTokens;
  }
}
throughProxies(Session);

/** The same messages, whose images and sounds need no page, address or camera from now on. */
async function fixed(messages: readonly Message[], signal?: AbortSignal): Promise<readonly Message[]> {
  return hasMedia(messages) ? (await onDemand.messages()).fixedMedia(messages, signal) : messages;
}

/** Without the oldest turn: a message of the user, and all up to the next one. The system prompt stays. */
function withoutOldestTurn(messages: readonly Message[]): Message[] | undefined {
  const first = messages.findIndex(({ role }) => role !== 'system');
  if (first < 0) return undefined;
  const next = nextTurn(messages, first);
  return [...messages.slice(0, first), ...(next < 0 ? [] : messages.slice(next))];
}

function messagesOf(input: string | Message | readonly Message[]): Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  if (Array.isArray(input) && input.length > 0) return [...(input as readonly Message[])];
  if (typeof input === 'object' && input !== null && 'role' in input) return [input];
  throw invalidArgument(`send: expected a text, a message or an array of messages, found ${show(input)}`);
}
