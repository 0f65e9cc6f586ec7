/**
 * Questions with a closed set of answers, and how likely each answer is. No code here.
 */
import type { Message } from '../types/chat.js';
import type { AdapterUse } from '../types/generate.js';

/** What all questions may have. */
interface Asked {
  /** What is asked. May be absent where the criteria say it. */
  readonly instructions?: string | null | undefined;
  /**
   * What the model writes for an answer, by the answer's name: a name of `choice`, a number of `score`, `true` or
   * `false`. Default: the name itself, and `yes` and `no`.
   */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Names of options, or names with descriptions. */
export type Options = readonly string[] | Readonly<Record<string, string | null>>;

/** Which of two options or more it is. */
export interface ChoiceQuestion extends Asked {
  /** `choice`. */
  readonly type: 'choice';
  /** The options. */
  readonly criteria: Options;
}

/** Which of the options apply: none, one or more. Each is a question of its own, answered with yes or no. */
export interface MultipleQuestion extends Asked {
  /** `multiple`. */
  readonly type: 'multiple';
  /** The options. */
  readonly criteria: Options;
  /** An option is chosen from this probability on. Default 0.5. */
  readonly threshold?: number | undefined;
}

/** Where it lies on a scale of two levels or more. */
export interface ScoreQuestion extends Asked {
  /** `score`. */
  readonly type: 'score';
  /** Descriptions of the levels, the lowest first; their numbers begin at 0. */
  readonly criteria: readonly (string | null)[];
}

/** Whether it is so. */
export interface BooleanQuestion extends Asked {
  /** `boolean`. */
  readonly type: 'boolean';
  /** When the answer is yes, and when it is no. */
  readonly criteria?: { readonly true?: string | null; readonly false?: string | null } | null | undefined;
}

/** A question about the input. */
export type Question = ChoiceQuestion | MultipleQuestion | ScoreQuestion | BooleanQuestion;

/** Questions by names of the page's own. */
export type Questions = Readonly<Record<string, Question>>;

/** The option that is most likely. */
export interface ChoiceAnswer {
  /** `choice`. */
  readonly type: 'choice';
  /** The most likely option. */
  readonly choice: string;
  /** How likely each option is; the sum is 1. */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** The options that apply. */
export interface MultipleAnswer {
  /** `multiple`. */
  readonly type: 'multiple';
  /** The options whose probability is `threshold` or more. */
  readonly choices: readonly string[];
  /** For each option how likely it is that it applies, 0 to 1. */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** A place on the scale. */
export interface ScoreAnswer {
  /** `score`. */
  readonly type: 'score';
  /** The mean of the levels, weighted by their probabilities: 0 to the number of levels minus 1. */
  readonly score: number;
  /** How likely each level is, by its number; the sum is 1. */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** How likely yes is. */
export interface BooleanAnswer {
  /** `boolean`. */
  readonly type: 'boolean';
  /** The probability of yes, 0 to 1. */
  readonly probability: number;
}

/** The answer to a question of type `Q`. */
export type AnswerTo<Q extends Question> = Q extends ChoiceQuestion
  ? ChoiceAnswer
  : Q extends MultipleQuestion
    ? MultipleAnswer
    : Q extends ScoreQuestion
      ? ScoreAnswer
      : BooleanAnswer;

/** Any answer. */
export type Answer = ChoiceAnswer | MultipleAnswer | ScoreAnswer | BooleanAnswer;

/** What the model is asked, for {@link DecideOptions.layout}. */
export interface Layout {
  /** The input. */
  readonly input: string;
  /** {@link DecideOptions.system}. */
  readonly system: string | undefined;
  /** The name of the question. */
  readonly name: string;
  /** The question. */
  readonly question: Question;
  /** The option that is asked about, of a question of type `multiple`. */
  readonly option: string | undefined;
  /** The question with its options and how to answer, as the usual layout has it. */
  readonly task: string;
  /** What the model may write. */
  readonly labels: readonly string[];
}

/** What an input without meaning makes of each answer, as `calibrate` gives it: plain data, which JSON holds. */
export type Calibration = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Options of {@link decide}. */
export interface DecideOptions<Q extends Questions = Questions> {
  /** What the questions are about. */
  readonly input: string;
  /** At least one. */
  readonly questions: Q;
  /** The system message. */
  readonly system?: string | undefined;
  /**
   * The prompt of a question, where the model was trained on one of its own: messages, which go through the chat
   * template, or a text, in which special tokens are parsed. What stays the same from question to question belongs at
   * the beginning: that is read once. Default: the system message, and a message of the input and the task.
   */
  readonly layout?: ((asked: Layout) => string | readonly Message[]) | undefined;
  /** What {@link calibrate} gave for the same questions. */
  readonly calibration?: Calibration | undefined;
  /** As of `generate`. */
  readonly adapters?: readonly AdapterUse[] | undefined;
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What a decision has read. */
export interface DecisionUsage {
  /** Tokens of the prompts of all questions. */
  readonly promptTokens: number;
  /** Tokens that the model read: each question's own, and the common beginning of all prompts once. */
  readonly readTokens: number;
  /** How often the model was asked for the next token. */
  readonly passes: number;
}

/** Answers to all questions. */
export interface Decision<Q extends Questions = Questions> {
  /** By the names of the questions. */
  readonly answers: { readonly [Name in keyof Q]: AnswerTo<Q[Name]> };
  /** What it took. */
  readonly usage: DecisionUsage;
}
