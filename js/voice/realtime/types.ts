/**
 * Events of OpenAI's realtime API (<https://platform.openai.com/docs/api-reference/realtime>), as far as they are taken
 * and given here. They fit the types of the package `openai`, which is not needed. No code here.
 */
import type { RequestOptions } from '../../openai/types.js';
import type { ChatChunk, ChatRequest } from '../../openai/types.js';
import type { Ears, TalkingModel } from '../types.js';
import type { SpeakingModel } from '../voices.js';

/** A model that answers, as far as it is needed here: a `WasmModel`, or a client of `openai({ model })`. */
export interface ChattingModel {
  /** OpenAI's chat completions. */
  readonly chat: {
    readonly completions: {
      create(request: ChatRequest & { stream: true }, options?: RequestOptions): Promise<AsyncIterable<ChatChunk>>;
    };
  };
}

/** Who takes part in a realtime session. */
export interface RealtimeOptions {
  /** Who answers; an LFM3-Audio with `mmproj` and `vocoder` hears and speaks itself, unless there is a `voice`. */
  readonly model: ChattingModel | TalkingModel;
  /** Who writes down what is heard; without it only a model that hears itself takes sound. */
  readonly ears?: Ears | undefined;
  /** Who says the answers: a model that was loaded with a vocoder; without it the model's own, or text. */
  readonly voice?: SpeakingModel | undefined;
  /** The language that is spoken, such as `en`, until the session says another one. Default `en`. */
  readonly language?: string | undefined;
  /** What the session begins with, as in `session.update`. */
  readonly session?: RealtimeSessionUpdate | undefined;
}

/** How the end of a turn is found. `semantic_vad` is taken as `server_vad`. */
export interface TurnDetection {
  /** By the voice activity alone. */
  type: 'server_vad' | 'semantic_vad';
  /** 0 to 1, by default 0.5: how far speech is above the noise, where 0.5 is 6 dB. */
  threshold?: number;
  /** Milliseconds before the speech that belong to it. Default 300. */
  prefix_padding_ms?: number;
  /** Milliseconds without speech that end a turn. Default 500. */
  silence_duration_ms?: number;
  /** Whether the model answers then. Default true. */
  create_response?: boolean;
  /** Whether speech ends the answer that is being given. Default true. */
  interrupt_response?: boolean;
}

/** A tool that the model may call. */
export interface RealtimeTool {
  /** Always `function`. */
  type?: 'function';
  /** The name. */
  name?: string;
  /** What it does. */
  description?: string;
  /** A JSON Schema of its arguments. */
  parameters?: unknown;
}

/** Samples of 16 bits, little-endian, one channel, at 24 kHz. */
export interface PcmFormat {
  /** Always `audio/pcm`. */
  type?: 'audio/pcm';
  /** Always 24000. */
  rate?: 24000;
}

/** A session. */
export interface RealtimeSession {
  /** Always `realtime`. */
  type: 'realtime';
  /** The name. */
  id: string;
  /** Always `realtime.session`. */
  object: 'realtime.session';
  /** The name of the model. */
  model: string;
  /** `audio` where there is a voice, else `text`. */
  output_modalities: ('text' | 'audio')[];
  /** What the model is told before everything else. */
  instructions: string;
  /** Tools that the model may call. */
  tools: RealtimeTool[];
  /** Whether it must call one. */
  tool_choice: 'none' | 'auto' | 'required' | { type: 'function'; name: string };
  /** Most tokens of an answer. */
  max_output_tokens: number | 'inf';
  /** Whether the oldest turns are left out where the context is full (`auto`), or the answer fails. */
  truncation: 'auto' | 'disabled';
  /** What comes in and goes out. */
  audio: {
    input: {
      format: PcmFormat;
      transcription?: { model?: string; language?: string; prompt?: string };
      turn_detection: TurnDetection | null;
    };
    output: { format: PcmFormat; voice: string; speed: number };
  };
}

/** What `session.update` may change; fields that are not there stay as they are. */
export interface RealtimeSessionUpdate {
  /** Always `realtime`. */
  type?: 'realtime' | 'transcription';
  /** See {@link RealtimeSession}. */
  output_modalities?: ('text' | 'audio')[];
  /** See {@link RealtimeSession}. */
  instructions?: string;
  /** See {@link RealtimeSession}. */
  tools?: readonly object[];
  /** See {@link RealtimeSession}. */
  tool_choice?: unknown;
  /** See {@link RealtimeSession}. */
  max_output_tokens?: number | 'inf';
  /** See {@link RealtimeSession}; `retention_ratio` is taken as `auto`. */
  truncation?: 'auto' | 'disabled' | { type: 'retention_ratio' };
  /** See {@link RealtimeSession}. */
  audio?: { input?: object; output?: object };
}

interface ItemParts {
  /** The name. */
  id: string;
  /** Always `realtime.item`. */
  object: 'realtime.item';
  /** Whether it is whole. */
  status: 'completed' | 'incomplete' | 'in_progress';
}

/** What the user says. */
export type UserContent =
  | { type: 'input_text'; text: string }
  | { type: 'input_audio'; transcript?: string }
  | { type: 'input_image'; image_url: string; detail?: 'auto' | 'low' | 'high' };

/** What the model says: text, or sound, of which the words are kept. */
export type AssistantContent = { type: 'output_text'; text: string } | { type: 'output_audio'; transcript: string };

/** An item of the conversation. */
export type RealtimeItem = ItemParts &
  (
    | { type: 'message'; role: 'system'; content: { type: 'input_text'; text: string }[] }
    | { type: 'message'; role: 'user'; content: UserContent[] }
    | { type: 'message'; role: 'assistant'; content: AssistantContent[] }
    | { type: 'function_call'; call_id: string; name: string; arguments: string }
    | { type: 'function_call_output'; call_id: string; output: string }
  );

/** A response, as its events have it. */
export interface RealtimeResponse {
  /** The name. */
  id: string;
  /** Always `realtime.response`. */
  object: 'realtime.response';
  /** Where it stands. */
  status: 'completed' | 'cancelled' | 'failed' | 'incomplete' | 'in_progress';
  /** Why it ended so. */
  status_details?: {
    type: 'completed' | 'cancelled' | 'incomplete' | 'failed';
    reason?: 'turn_detected' | 'client_cancelled' | 'max_output_tokens';
    error?: { type: string; code: string; message: string };
  };
  /** The items. */
  output: RealtimeItem[];
  /** Text or sound. */
  output_modalities: ('text' | 'audio')[];
  /** As the request has it. */
  metadata: Record<string, string> | null;
  /** Counts of tokens, once it is done. */
  usage?: {
    total_tokens: number;
    input_tokens: number;
    output_tokens: number;
    input_token_details: { text_tokens: number; cached_tokens: number; audio_tokens: number };
    output_token_details: { text_tokens: number; audio_tokens: number };
  };
}

/** What `response.create` may say beside the session. */
export interface ResponseRequest {
  /** In place of what the session has. */
  instructions?: string;
  /** In place of what the session has. */
  output_modalities?: ('text' | 'audio')[];
  /** In place of what the session has. */
  tools?: readonly object[];
  /** In place of what the session has. */
  tool_choice?: unknown;
  /** In place of what the session has. */
  max_output_tokens?: number | 'inf';
  /** `none`: the response is not part of the conversation. */
  conversation?: string;
  /** What the model reads in place of the conversation; `item_reference` names an item of it. */
  input?: readonly object[];
  /** Comes back in the response. */
  metadata?: Record<string, string> | null;
}

/** What may be sent. */
export type RealtimeClientEvent = { event_id?: string } & (
  | { type: 'session.update'; session: object }
  | { type: 'input_audio_buffer.append'; audio: string }
  | { type: 'input_audio_buffer.commit' | 'input_audio_buffer.clear' | 'output_audio_buffer.clear' }
  | { type: 'conversation.item.create'; item: object; previous_item_id?: string }
  | { type: 'conversation.item.truncate'; item_id: string; content_index: number; audio_end_ms: number }
  | { type: 'conversation.item.delete' | 'conversation.item.retrieve'; item_id: string }
  | { type: 'response.create'; response?: object }
  | { type: 'response.cancel'; response_id?: string }
);

/** Where in a response something stands. */
interface InResponse {
  response_id: string;
  item_id: string;
  output_index: number;
}
type InContent = InResponse & { content_index: number };
type ContentPart = { type: 'text'; text: string } | { type: 'audio'; transcript: string };

/** What happens. */
export type RealtimeServerEvent = { event_id: string } & (
  | { type: 'session.created' | 'session.updated'; session: RealtimeSession }
  | { type: 'input_audio_buffer.speech_started'; item_id: string; audio_start_ms: number }
  | { type: 'input_audio_buffer.speech_stopped'; item_id: string; audio_end_ms: number }
  | { type: 'input_audio_buffer.committed'; item_id: string; previous_item_id: string | null }
  | { type: 'input_audio_buffer.cleared' }
  | {
      type: 'conversation.item.added' | 'conversation.item.created' | 'conversation.item.done';
      item: RealtimeItem;
      previous_item_id: string | null;
    }
  | { type: 'conversation.item.retrieved'; item: RealtimeItem }
  | { type: 'conversation.item.deleted'; item_id: string }
  | { type: 'conversation.item.truncated'; item_id: string; content_index: number; audio_end_ms: number }
  | {
      type: 'conversation.item.input_audio_transcription.completed';
      item_id: string;
      content_index: number;
      transcript: string;
      usage: { type: 'duration'; seconds: number };
    }
  | {
      type: 'conversation.item.input_audio_transcription.failed';
      item_id: string;
      content_index: number;
      error: { type: string; code: string; message: string };
    }
  | { type: 'response.created' | 'response.done'; response: RealtimeResponse }
  | {
      type: 'response.output_item.added' | 'response.output_item.done';
      response_id: string;
      output_index: number;
      item: RealtimeItem;
    }
  | ({ type: 'response.content_part.added' | 'response.content_part.done'; part: ContentPart } & InContent)
  | ({
      type: 'response.output_text.delta' | 'response.output_audio.delta' | 'response.output_audio_transcript.delta';
      delta: string;
    } & InContent)
  | ({ type: 'response.output_text.done'; text: string } & InContent)
  | ({ type: 'response.output_audio.done' } & InContent)
  | ({ type: 'response.output_audio_transcript.done'; transcript: string } & InContent)
  | ({ type: 'response.function_call_arguments.delta'; call_id: string; delta: string } & InResponse)
  | ({
      type: 'response.function_call_arguments.done';
      call_id: string;
      name: string;
      arguments: string;
    } & InResponse)
  | {
      type: 'error';
      error: { type: string; code: string; message: string; param: string | null; event_id: string | null };
    }
);

type WithoutId<T> = T extends unknown ? Omit<T, 'event_id'> : never;

/** An event before it has its name. @internal */
export type Happening = WithoutId<RealtimeServerEvent>;
