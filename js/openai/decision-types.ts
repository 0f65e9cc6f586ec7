/**
 * The shapes of OpenAI's decisions (`openai` 7.59), as far as they are taken here. No code here.
 */
import type { RequestOptions } from './types.js';

/** A text or JSON of an input or of instructions. Images are refused. */
export type DecisionPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'output_text'; readonly text: string }
  | { readonly type: 'refusal'; readonly refusal: string }
  | { readonly type: 'input_json'; readonly data: object };

/** A part of an input: a message, or a call of a tool and what it gave. */
export type DecisionItem =
  | {
      readonly type?: 'message' | undefined;
      readonly role: 'user' | 'developer' | 'system' | 'assistant';
      readonly content: string | readonly DecisionPart[];
    }
  | { readonly type: 'function_call'; readonly call_id: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'custom_tool_call'; readonly call_id: string; readonly name: string; readonly input: string }
  | {
      readonly type: 'function_call_output' | 'custom_tool_call_output';
      readonly call_id: string;
      readonly output: string | readonly DecisionPart[];
    };

/** What all questions have. */
interface Asked {
  /** The question. */
  readonly instructions: string | readonly DecisionPart[];
  /** Comes back with the answer. */
  readonly name?: string | undefined;
}

/** A question about the input. */
export type DecisionQuestion =
  | (Asked & { readonly type: 'predicate' })
  | (Asked & {
      readonly type: 'choice';
      readonly choices: readonly { readonly value: string | boolean; readonly description?: string | undefined }[];
    })
  | (Asked & {
      readonly type: 'score';
      readonly levels: readonly { readonly label: string; readonly description?: string | undefined }[];
    });

/** A request of `decisions.create`. */
export interface DecisionRequest {
  /** A text, or messages and calls of tools; messages of `system` and `developer` are the system message. */
  readonly input: string | readonly DecisionItem[];
  /** 1 to 400. */
  readonly questions: readonly DecisionQuestion[];
  /** Comes back in the result. */
  readonly model?: string | undefined;
}

/** An answer: `probability` of a predicate, or all probabilities and the `confidence` in the likeliest, 0 to 1. */
export type DecisionAnswer =
  | { type: 'predicate'; name: string | null; probability: number }
  | {
      type: 'choice';
      name: string | null;
      choice: string | boolean;
      confidence: number;
      probabilities: { value: string | boolean; probability: number }[];
    }
  | {
      type: 'score';
      name: string | null;
      score: number;
      confidence: number;
      probabilities: { label: string; value: number; probability: number }[];
    };

/** What `decisions.create` gives. */
export interface DecisionResult {
  /** In the order of the questions. */
  answers: DecisionAnswer[];
  /** The name of the request, else of the file. */
  model: string;
  /** Tokens of the prompts of all questions; what was read before counts as cached. */
  usage: {
    input_tokens: number;
    input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
    output_tokens: number;
    output_tokens_details: { reasoning_tokens: number };
    total_tokens: number;
  };
}

/** Questions with a closed set of answers. */
export interface Decisions {
  /**
   * Answers questions about an input by the log-probabilities of the answers.
   *
   * @throws {WebggufError} the errors of `decide` of `webgguf/decide`
   */
  create(request: DecisionRequest, options?: RequestOptions): Promise<DecisionResult>;
}
