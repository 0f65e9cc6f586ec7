/**
 * The events of OpenAI's Responses API, as far as they occur here. No code here.
 */
import type {
  ModelResponse,
  ResponseLogprob,
  ResponseOutputItem,
  ResponseOutputText,
  ResponseSummary,
  ResponseThought,
} from './types.js';

/** A response in an event: without `output_text`. */
export type ResponseSnapshot = Omit<ModelResponse, 'output_text'>;

interface Numbered {
  /** The number of the event, from 0. */
  sequence_number: number;
}

interface OfItem extends Numbered {
  /** The name of the item. */
  item_id: string;
  /** The place of the item in `output`. */
  output_index: number;
}

interface OfPart extends OfItem {
  /** The place of the part in the item: always 0. */
  content_index: number;
}

interface OfSummary extends OfItem {
  /** The place of the part in the item: always 0. */
  summary_index: number;
}

/** An event of a response that is streamed. */
export type ResponseEvent =
  | (Numbered & { type: 'response.created' | 'response.queued' | 'response.in_progress'; response: ResponseSnapshot })
  | (Numbered & { type: 'response.completed' | 'response.incomplete' | 'response.failed'; response: ResponseSnapshot })
  | (Numbered & { type: 'response.output_item.added'; output_index: number; item: ResponseOutputItem })
  | (Numbered & { type: 'response.output_item.done'; output_index: number; item: ResponseOutputItem })
  | (OfPart & { type: 'response.content_part.added'; part: ResponseOutputText | ResponseThought })
  | (OfPart & { type: 'response.content_part.done'; part: ResponseOutputText | ResponseThought })
  | (OfPart & { type: 'response.output_text.delta'; delta: string; logprobs: ResponseLogprob[] })
  | (OfPart & { type: 'response.output_text.done'; text: string; logprobs: ResponseLogprob[] })
  | (OfPart & { type: 'response.reasoning_text.delta'; delta: string })
  | (OfPart & { type: 'response.reasoning_text.done'; text: string })
  | (OfSummary & { type: 'response.reasoning_summary_part.added'; part: ResponseSummary })
  | (OfSummary & { type: 'response.reasoning_summary_part.done'; part: ResponseSummary })
  | (OfSummary & { type: 'response.reasoning_summary_text.delta'; delta: string })
  | (OfSummary & { type: 'response.reasoning_summary_text.done'; text: string })
  | (OfItem & { type: 'response.function_call_arguments.delta'; delta: string })
  | (OfItem & { type: 'response.function_call_arguments.done'; name: string; arguments: string });
