/**
 * `decisions.create` in the shape of OpenAI's API: the answers of `decide`.
 */
import { show, signalOption } from '../check.js';
import { invalidArgument, WebggufError } from '../errors.js';
import type { ChatModel } from '../openai/chat-model.js';
import { nameOf } from '../openai/completions.js';
import type {
  DecisionAnswer,
  DecisionItem,
  DecisionPart,
  DecisionQuestion,
  DecisionRequest,
  DecisionResult,
  Decisions,
} from '../openai/decision-types.js';
import { confidenceIn, textOf } from './content.js';
import { decide } from './decide.js';
import type { Answer, BooleanAnswer, ChoiceAnswer, Question, Questions, ScoreAnswer } from './types.js';

const CALL = 'decisions.create';
const MOST_QUESTIONS = 400;
const FIELDS = ['input', 'questions', 'model', 'prompt_cache_key', 'prompt_cache_options', 'safety_identifier'];

/** @internal */
export class LocalDecisions implements Decisions {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  readonly create: Decisions['create'] = async (request, options = {}): Promise<DecisionResult> => {
    const signal = signalOption(CALL, { signal: options?.signal ?? undefined });
    const { input, questions, model } = checked(request);
    const asked = questions.map((question, at): [string, Question] => [`q${at}`, questionOf(question, at)]);
    const { answers, usage } = await decide(this.#model, {
      ...inputOf(input),
      questions: Object.fromEntries(asked) as Questions,
      signal,
    });
    const { promptTokens: tokens, readTokens } = usage;
    return {
      answers: questions.map((question, at) => answerTo(question, answers[`q${at}`] as Answer)),
      model: model ?? nameOf(this.#model.info),
      usage: {
        input_tokens: tokens,
        input_tokens_details: { cached_tokens: Math.max(0, tokens - readTokens), cache_write_tokens: 0 },
        output_tokens: 0,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: tokens,
      },
    };
  };
}

function checked(request: DecisionRequest): DecisionRequest {
  const { input, questions } = request ?? {};
  const unknown = Object.keys(request ?? {}).find((field) => !FIELDS.includes(field));
  if (unknown) throw invalidArgument(`${CALL}: field '${unknown}' is unknown`);
  if (typeof input !== 'string' && !Array.isArray(input)) {
    throw invalidArgument(`${CALL}: 'input' must be a string or an array, found ${show(input)}`);
  }
  if (!Array.isArray(questions) || questions.length === 0 || questions.length > MOST_QUESTIONS) {
    const found = Array.isArray(questions) ? `${questions.length}` : show(questions);
    throw invalidArgument(`${CALL}: 'questions' must be an array of 1 to ${MOST_QUESTIONS}, found ${found}`);
  }
  return request;
}

/** Messages as a text; one of the user alone is its text. */
function inputOf(input: DecisionRequest['input']): { input: string; system?: string | undefined } {
  if (typeof input === 'string') return { input };
  const isSystem = (item: DecisionItem): boolean => 'role' in item && ['system', 'developer'].includes(item.role);
  const system = input.filter(isSystem).map((item) => textOfItem(item, false));
  const others = input.filter((item) => !isSystem(item));
  const texts = others.map((item) => textOfItem(item, others.length > 1));
  return { input: texts.join('\n\n'), system: system.length > 0 ? system.join('\n\n') : undefined };
}

function textOfItem(item: DecisionItem, isNamed: boolean): string {
  if ('role' in item) {
    const text = textOfParts(item.content, 'input');
    return isNamed ? `${item.role}: ${text}` : text;
  }
  if (item.type === 'function_call') return `call ${item.name}: ${item.arguments}`;
  if (item.type === 'custom_tool_call') return `call ${item.name}: ${item.input}`;
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
    return `result: ${textOfParts(item.output, 'input')}`;
  }
  throw invalidArgument(`${CALL}: 'input' has an item that is not known here: ${show(item)}`);
}

function textOfParts(content: string | readonly DecisionPart[], where: string): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidArgument(`${CALL}: ${where} must have a text, found ${show(content)}`);
  const text = (part: DecisionPart): string => {
    if (part?.type === 'input_text' || part?.type === 'output_text') return part.text;
    if (part?.type === 'refusal') return part.refusal;
    if (part?.type === 'input_json') return textOf(part.data);
    const type = show((part as { type?: unknown } | null)?.type);
    throw new WebggufError('feature_missing', `${CALL}: ${where} has a part of type ${type}; texts and JSON are read`);
  };
  return (content as readonly DecisionPart[]).map(text).join('\n');
}

function questionOf(question: DecisionQuestion, at: number): Question {
  const where = `questions[${at}]`;
  const instructions = textOfParts(question?.instructions, where);
  if (question.type === 'predicate') return { type: 'boolean', instructions };
  const described = (name: string, about?: string): string => (about ? `${name}: ${about}` : name);
  if (question.type === 'score' && Array.isArray(question.levels)) {
    return {
      type: 'score',
      instructions,
      criteria: question.levels.map((level) => described(level.label, level.description)),
    };
  }
  if (question.type !== 'choice' || !Array.isArray(question.choices)) {
    const types = 'predicate, choice with choices or score with levels';
    throw invalidArgument(`${CALL}: ${where} must be of type ${types}, found ${show(question)}`);
  }
  const names = question.choices.map(({ value }) => String(value));
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) throw invalidArgument(`${CALL}: ${where} has the choice ${show(twice)} twice`);
  const criteria = question.choices.map(({ description }, place) => [names[place], description ?? null]);
  return { type: 'choice', instructions, criteria: Object.fromEntries(criteria) };
}

function answerTo(question: DecisionQuestion, answer: Answer): DecisionAnswer {
  const name = question.name ?? null;
  if (question.type === 'predicate') {
    return { type: 'predicate', name, probability: (answer as BooleanAnswer).probability };
  }
  const { probabilities } = answer as ChoiceAnswer | ScoreAnswer;
  const confidence = confidenceIn(probabilities);
  const of = (key: string | number): number => probabilities[key] ?? 0;
  if (question.type === 'score') {
    const levels = question.levels.map(({ label }, value) => ({ label, value, probability: of(value) }));
    return { type: 'score', name, score: (answer as ScoreAnswer).score, confidence, probabilities: levels };
  }
  const all = question.choices.map(({ value }) => ({ value, probability: of(String(value)) }));
  const { choice } = answer as ChoiceAnswer;
  const value = question.choices.find((each) => String(each.value) === choice)?.value ?? choice;
  return { type: 'choice', name, choice: value, confidence, probabilities: all };
}
