/**
 * `/v1/systemone` as a `fetch`: no request leaves the page.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { ChatModel } from '../openai/chat-model.js';
import { nameOf } from '../openai/completions.js';
import { answering, bodyOf, type Call, json } from '../openai/http.js';
import { errorBody, notFound } from '../openai/wire.js';
import { asTexts, confidenceIn, textOf } from './content.js';
import { decide } from './decide.js';
import type { Answer, DecideOptions, Question, Questions } from './types.js';

/** A question as `/v1/systemone` has it; `noul` is one of yes or no. */
interface Asked {
  readonly type: 'noul' | 'choice' | 'score';
  readonly instructions?: unknown;
  readonly criteria?: unknown;
}

/** Options of {@link systemOneFetch}: what a request has no field for. */
export interface SystemOneOptions extends Pick<DecideOptions, 'system' | 'layout' | 'adapters'> {
  /** The model; while it is being loaded, requests wait. */
  readonly model: ChatModel | Promise<ChatModel>;
}

/**
 * A `fetch` that answers `POST /v1/systemone` and `GET /v1/models`, for clients of decision models.
 *
 * @example
 * import { TypeSafeClient } from '@typesafe-ai/sdk';
 * const fetch = systemOneFetch({ model: ChatModel.load(url) });
 * const client = new TypeSafeClient({ baseURL: 'http://webgguf', apiKey: '-', fetch, dangerouslyAllowBrowser: true });
 * const { answers } = await client.systemOne({ state: mail, questions });
 */
export function systemOneFetch(options: SystemOneOptions): typeof fetch {
  const model = Promise.resolve(options.model);
  model.catch(() => {}); // each request gets it
  return answering((call) => route({ ...options, model }, call), errorBody);
}

async function route(options: SystemOneOptions, call: Call): Promise<Response> {
  const { method, path } = call;
  const wanted = path.endsWith('/systemone') ? 'POST' : path.endsWith('/models') ? 'GET' : undefined;
  if (!wanted) return json(notFound(`${method} ${path} is not here; there are POST /systemone, GET /models`), 404);
  if (method !== wanted) return json(notFound(`${method} ${path} is not here, expected ${wanted}`), 405);
  const { model: loading, ...further } = options;
  const model = await loading;
  const name = nameOf(model.info);
  if (wanted === 'GET') return json({ models: [{ name, description: name, release_date: '1970-01-01' }] });
  const request = bodyOf<{ state?: unknown; questions?: Record<string, Asked> } | null>(await call.text());
  const asked = Object.entries(request?.questions ?? {});
  const { answers, usage } = await decide(model, {
    ...further,
    input: textOf(request?.state),
    questions: Object.fromEntries(asked.map(([id, question]) => [id, questionOf(id, question)])) as Questions,
    signal: call.signal,
  });
  const written = asked.map(([id, question]) => [id, answerTo(question, answers[id] as Answer)]);
  return json({
    model: name,
    answers: Object.fromEntries(written),
    usage: { input_tokens: usage.promptTokens, output_tokens: 0 },
  });
}

function questionOf(id: string, question: Asked): Question {
  const type = question?.type;
  if (type !== 'noul' && type !== 'choice' && type !== 'score') {
    throw invalidArgument(`questions.${id}: 'type' must be noul, choice or score, found ${show(type)}`);
  }
  return { ...asTexts(question), type: type === 'noul' ? 'boolean' : type } as Question;
}

function answerTo({ criteria }: Asked, answer: Answer): object {
  if (answer.type === 'boolean') return { type: 'noul', noul: answer.probability };
  const confidence = confidenceIn((answer as { probabilities: Record<string, number> }).probabilities);
  if (answer.type !== 'score') return { ...answer, confidence };
  return { ...answer, legend: Object.fromEntries((criteria as unknown[]).entries()), confidence };
}
