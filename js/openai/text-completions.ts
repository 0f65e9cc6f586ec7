/**
 * `completions.create`, OpenAI's older interface, over a model that is loaded.
 */
import { signalOption } from '../check.js';
import type { ChosenToken, GenerationResult } from '../types/generate.js';
import type { TokenIds } from '../types/read.js';
import type { ChatModel } from './chat-model.js';
import { type Check, type Checked, checkAll, FLAG, integer, OBJECT, refuse, TEXT, TOKENS } from './checks.js';
import { count, emptyUsage, followed, merged, nameOf, randomId } from './completions.js';
import { promptOfGap } from './gap.js';
import { samplingOf } from './prepare.js';
import { CHAT_CHECKS } from './request.js';
import { AnswerStream } from './stream.js';
import type { TextCompletion, TextLogprobs, TextRequest } from './text-types.js';
import type { CompletionUsage, RequestOptions } from './types.js';

/** Texts that go on. */
export interface TextCompletions {
  /**
   * What follows a text, or what belongs between a text and `suffix`, in the shapes of OpenAI's API.
   *
   * @param request see {@link TextRequest}; with `stream: true` the answer comes in parts
   * @param options `signal` ends the answer
   * @throws {WebggufError} `invalid_argument` names the field that is wrong; the errors of `generate`
   * @throws the reason of `options.signal` when that fires; of a streamed answer, the loop throws it
   */
  create(request: TextRequest & { stream: true }, options?: RequestOptions): Promise<AnswerStream<TextCompletion>>;
  /** The whole answer. */
  create(
    request: TextRequest & { stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<TextCompletion>;
  /** Either, as `stream` says. */
  create(request: TextRequest, options?: RequestOptions): Promise<TextCompletion | AnswerStream<TextCompletion>>;
}

const CALL = 'completions.create';
const DEFAULT_TOKENS = 16;

const isIds = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id));

const PROMPT: Check = (value) => {
  const isText = (each: unknown): boolean => typeof each === 'string' || isIds(each);
  const fits = isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));
  return fits ? undefined : 'a string, token ids, or an array of them that is not empty';
};

const { temperature, top_p, top_k, min_p, typical_p, repetition_penalty, seed, stop, n } = CHAT_CHECKS;
const { dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n, xtc_probability, xtc_threshold } =
  CHAT_CHECKS;
const { frequency_penalty, presence_penalty, dry_sequence_breakers, logit_bias, adapters, grammar } = CHAT_CHECKS;

const CHECKS: Record<keyof TextRequest, Check> = {
  ...{ temperature, top_p, top_k, min_p, typical_p, repetition_penalty, seed, stop, n },
  ...{ dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n, xtc_probability, xtc_threshold },
  ...{ frequency_penalty, presence_penalty, dry_sequence_breakers, logit_bias, adapters, grammar },
  prompt: PROMPT,
  suffix: TEXT,
  model: TEXT,
  max_tokens: TOKENS,
  stream: FLAG,
  stream_options: OBJECT,
  best_of: integer(1, 128),
  logprobs: integer(0, 5),
  echo: FLAG,
  user: TEXT,
};

/** @internal */
export function checkText(body: TextRequest): Checked<TextRequest> & Pick<TextRequest, 'prompt'> {
  const { seed: given, ...request } = checkAll(CALL, body, CHECKS);
  const { prompt, suffix, best_of: best, n: wanted = 1, echo, logprobs } = request;
  if (prompt === undefined) return refuse(CALL, "field 'prompt' is missing");
  if (best !== undefined && best !== wanted)
    refuse(CALL, `field 'best_of' must be 'n', which is ${wanted}, found ${best}`);
  if (echo && logprobs !== undefined) refuse(CALL, "'echo' and 'logprobs' exclude each other");
  if (suffix !== undefined && typeof prompt !== 'string')
    refuse(CALL, "field 'suffix' needs a 'prompt' that is a string");
  if (suffix !== undefined && echo) refuse(CALL, "'echo' and 'suffix' exclude each other");
  // As for chat completions: another seed each time.
  return { ...request, ...(given !== undefined && given !== -1 && { seed: given }), prompt };
}

type Choice = TextCompletion['choices'][number];

/** One answer to one text. */
interface Asked {
  readonly index: number;
  /** Which of the answers to this text. */
  readonly copy: number;
  readonly prompt: string | TokenIds;
}

/** @internal */
export class LocalTextCompletions implements TextCompletions {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  create(request: TextRequest & { stream: true }, options?: RequestOptions): Promise<AnswerStream<TextCompletion>>;
  create(
    request: TextRequest & { stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<TextCompletion>;
  create(request: TextRequest, options?: RequestOptions): Promise<TextCompletion | AnswerStream<TextCompletion>>;
  async create(
    body: TextRequest,
    options: RequestOptions = {},
  ): Promise<TextCompletion | AnswerStream<TextCompletion>> {
    const signal = signalOption(CALL, { signal: options?.signal ?? undefined });
    signal?.throwIfAborted();
    const request = checkText(body);
    const asked = await this.#asked(request);
    const controller = new AbortController();
    const chunks = this.#chunks(request, asked, controller, signal);
    return request.stream ? new AnswerStream(chunks, controller) : wholeOf(chunks);
  }

  async #asked({ prompt, suffix, n: copies = 1 }: ReturnType<typeof checkText>): Promise<Asked[]> {
    const gap = suffix === undefined ? undefined : await promptOfGap(this.#model, prompt as string, suffix);
    const texts = gap !== undefined ? [gap] : typeof prompt === 'string' || isIds(prompt) ? [prompt] : prompt;
    return (texts as readonly (string | TokenIds)[]).flatMap((text, at) =>
      Array.from({ length: copies }, (_, copy) => ({ index: at * copies + copy, copy, prompt: text })),
    );
  }

  async *#chunks(
    request: ReturnType<typeof checkText>,
    asked: readonly Asked[],
    controller: AbortController,
    caller: AbortSignal | undefined,
  ): AsyncGenerator<TextCompletion> {
    const done = followed(caller, controller);
    const frame = this.#frame(request.model);
    const wantsUsage = !request.stream || request.stream_options?.include_usage;
    const usage = emptyUsage();
    try {
      const answers = asked.map((each) => new Answer(this.#model, request, each, controller.signal));
      for (const group of (this.#model.info.parallel ?? 1) > 1 ? [answers] : answers.map((answer) => [answer])) {
        for await (const choice of merged(group.map((answer) => answer.choices()))) {
          yield { ...frame, choices: [choice] };
        }
        if (caller?.aborted && controller.signal.reason === caller.reason) throw caller.reason;
        if (controller.signal.aborted) return;
        for (const answer of group) count(usage, { result: answer.result, reasoningTokens: 0 }, answer.isFirst);
      }
    } finally {
      done();
    }
    if (wantsUsage) yield { ...frame, choices: [], usage };
  }

  #frame(model: string | undefined): Omit<TextCompletion, 'choices'> {
    const { info } = this.#model;
    return {
      id: randomId('cmpl-', 24),
      object: 'text_completion',
      created: Math.floor(Date.now() / 1e3),
      model: model ?? nameOf(info),
      system_fingerprint: `webgguf-${info.backend}`,
      webgguf: { backend: info.backend },
    };
  }
}

class Answer {
  readonly #model: ChatModel;
  readonly #request: ReturnType<typeof checkText>;
  readonly #asked: Asked;
  readonly #signal: AbortSignal;
  #length = 0;
  result: GenerationResult | undefined;

  constructor(model: ChatModel, request: ReturnType<typeof checkText>, asked: Asked, signal: AbortSignal) {
    this.#model = model;
    this.#request = request;
    this.#asked = asked;
    this.#signal = signal;
  }

  /** The tokens of a text count once. */
  get isFirst(): boolean {
    return this.#asked.copy === 0;
  }

  async *choices(): AsyncGenerator<Choice> {
    const { prompt, copy } = this.#asked;
    const { seed, max_tokens: most = DEFAULT_TOKENS, logprobs, echo, prompt: _, ...others } = this.#request;
    const sampling = samplingOf({
      ...others,
      ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs }),
    });
    const generation = this.#model.generate(prompt, {
      ...sampling,
      ...(others.grammar !== undefined && { grammar: { gbnf: others.grammar } }),
      ...(seed !== undefined && { seed: seed + copy }),
      maxTokens: most,
    });
    const end = (): void => void generation.stop();
    this.#signal.addEventListener('abort', end, { once: true });
    if (this.#signal.aborted) end();
    try {
      if (echo) yield this.#choice(typeof prompt === 'string' ? prompt : await this.#model.detokenize(prompt));
      for await (const { text, tokens } of generation) yield this.#choice(text, tokens);
      this.result = await generation;
      if (!this.#signal.aborted) yield { ...this.#choice(''), finish_reason: this.result.finishReason };
    } finally {
      this.#signal.removeEventListener('abort', end);
      await generation.stop();
    }
  }

  #choice(text: string, tokens?: readonly ChosenToken[]): Choice {
    const logprobs = tokens ? logprobsOf(tokens, this.#length) : null;
    this.#length += text.length;
    return { index: this.#asked.index, text, finish_reason: null, logprobs };
  }
}

function logprobsOf(tokens: readonly ChosenToken[], from: number): TextLogprobs {
  let at = from;
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) => Object.fromEntries(top.map(({ text, logprob }) => [text, logprob]))),
    text_offset: tokens.map(({ text }) => (at += text.length) - text.length),
  };
}

/** The whole answer from its chunks. */
async function wholeOf(chunks: AsyncIterable<TextCompletion>): Promise<TextCompletion> {
  const choices: Choice[] = [];
  let last: TextCompletion | undefined;
  for await (const chunk of chunks) {
    last = chunk;
    for (const { index, text, finish_reason: reason, logprobs } of chunk.choices) {
      const choice = (choices[index] ??= { index, text: '', finish_reason: null, logprobs: null });
      choice.text += text;
      choice.finish_reason = reason ?? choice.finish_reason;
      if (logprobs) choice.logprobs = joined(choice.logprobs, logprobs);
    }
  }
  return { ...(last as TextCompletion), choices, usage: last?.usage as CompletionUsage };
}

function joined(first: TextLogprobs | null, next: TextLogprobs): TextLogprobs {
  if (!first) return next;
  return {
    tokens: [...first.tokens, ...next.tokens],
    token_logprobs: [...first.token_logprobs, ...next.token_logprobs],
    top_logprobs: [...first.top_logprobs, ...next.top_logprobs],
    text_offset: [...first.text_offset, ...next.text_offset],
  };
}
