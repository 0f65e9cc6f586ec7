/**
 * What a realtime session is set to, and what `session.update` may change.
 */
import { SPEED } from '../stretch.js';
import { Refusal, wrongValue } from './refusal.js';
import type { RealtimeSession, RealtimeTool, ResponseRequest, TurnDetection } from './types.js';

/** Samples each second of what comes in and goes out. @internal */
export const PCM_RATE = 24_000;

type Fields = Record<string, unknown>;

/** Fields of OpenAI's sessions that are taken and have no effect. */
const WITHOUT_EFFECT = [
  ...['id', 'object', 'model', 'expires_at', 'include', 'tracing', 'prompt', 'reasoning'],
  'parallel_tool_calls',
];
const KNOWN = [
  'type',
  'output_modalities',
  'instructions',
  'tools',
  'tool_choice',
  'max_output_tokens',
  'truncation',
  'audio',
];

/** @internal */
export function newSession(id: string, model: string, hasVoice: boolean): RealtimeSession {
  const format = { type: 'audio/pcm', rate: PCM_RATE } as const;
  const turns = { threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 500 };
  return {
    ...{ type: 'realtime', id, object: 'realtime.session', model, instructions: '' },
    ...{ output_modalities: [hasVoice ? 'audio' : 'text'], tools: [], tool_choice: 'auto', max_output_tokens: 'inf' },
    truncation: 'auto',
    audio: {
      input: {
        format,
        turn_detection: { type: 'server_vad', ...turns, create_response: true, interrupt_response: true },
      },
      output: { format, voice: 'local', speed: 1 },
    },
  };
}

/** The session with what an event changes; the event is refused as a whole. @internal */
export function updated(session: RealtimeSession, update: unknown, hasVoice: boolean): RealtimeSession {
  const fields = objectOf('session', update);
  refuseUnknown('session', fields, [...KNOWN, ...WITHOUT_EFFECT]);
  if ((fields.type ?? 'realtime') !== 'realtime') throw wrongValue('session.type', "'realtime'", fields.type);
  // Log-probabilities of words, which whoever writes them down here does not say.
  const { include } = fields as { include?: unknown[] };
  if (include?.length) throw wrongValue('session.include', 'empty: words come without log-probabilities', include);
  const { input, output } = fields.audio === undefined ? {} : (objectOf('session.audio', fields.audio) as Fields);
  return {
    ...session,
    ...asked(fields, 'session', hasVoice),
    ...(fields.truncation != null && { truncation: truncationOf(fields.truncation) }),
    audio: {
      input: input === undefined ? session.audio.input : inputOf(session.audio.input, input),
      output: output === undefined ? session.audio.output : outputOf(session.audio.output, output),
    },
  };
}

function truncationOf(given: unknown): RealtimeSession['truncation'] {
  if (given === 'auto' || given === 'disabled') return given;
  if ((given as Fields).type === 'retention_ratio') return 'auto';
  throw wrongValue('session.truncation', "'auto', 'disabled' or a retention ratio", given);
}

/** The fields of a session that a response may have, too. @internal */
export function asked(fields: ResponseRequest | Fields, path: string, hasVoice: boolean): Partial<RealtimeSession> {
  const { instructions, tools, tool_choice: choice, max_output_tokens: most, output_modalities: kinds } = fields;
  if (instructions !== undefined && typeof instructions !== 'string') {
    throw wrongValue(`${path}.instructions`, 'a string', instructions);
  }
  const isCount = most === 'inf' || (Number.isInteger(most) && (most as number) > 0);
  if (most !== undefined && !isCount) throw wrongValue(`${path}.max_output_tokens`, "a number or 'inf'", most);
  return {
    ...(instructions !== undefined && { instructions }),
    ...(most !== undefined && { max_output_tokens: most as number | 'inf' }),
    ...(kinds !== undefined && { output_modalities: modalitiesOf(`${path}.output_modalities`, kinds, hasVoice) }),
    ...(tools !== undefined && { tools: toolsOf(`${path}.tools`, tools) }),
    ...(choice !== undefined && { tool_choice: choiceOf(`${path}.tool_choice`, choice) }),
  };
}

function modalitiesOf(path: string, kinds: unknown, hasVoice: boolean): ('text' | 'audio')[] {
  const [kind] = Array.isArray(kinds) && kinds.length === 1 ? (kinds as unknown[]) : [];
  if (kind !== 'text' && kind !== 'audio') throw wrongValue(path, "['text'] or ['audio']", kinds);
  if (kind === 'audio' && !hasVoice) throw new Refusal('invalid_value', `${path}: there is no voice`, path);
  return [kind];
}

function toolsOf(path: string, tools: unknown): RealtimeTool[] {
  if (!Array.isArray(tools)) throw wrongValue(path, 'an array', tools);
  return tools.map((tool: Partial<RealtimeTool> | null, at) => {
    const { type = 'function', name, description, parameters } = tool ?? {};
    if (type !== 'function') throw wrongValue(`${path}[${at}].type`, "'function'", type);
    if (typeof name !== 'string' || name === '') throw wrongValue(`${path}[${at}].name`, 'a name', name);
    return { type, name, ...(description !== undefined && { description }), parameters: parameters ?? {} };
  });
}

function choiceOf(path: string, choice: unknown): RealtimeSession['tool_choice'] {
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice;
  const { type, name } = (choice ?? {}) as Fields;
  if (type === 'function' && typeof name === 'string') return { type, name };
  throw wrongValue(path, "'none', 'auto', 'required' or a function", choice);
}

type Input = RealtimeSession['audio']['input'];

function inputOf(before: Input, given: unknown): Input {
  const path = 'session.audio.input';
  const fields = objectOf(path, given);
  refuseUnknown(path, fields, ['format', 'noise_reduction', 'transcription', 'turn_detection']);
  checkFormat(`${path}.format`, fields.format);
  const { turn_detection: turns, transcription } = fields;
  const kept = transcription === null ? { ...before, transcription: undefined } : before;
  return {
    ...(kept as Input),
    ...(transcription != null && { transcription: transcriptionOf(`${path}.transcription`, transcription) }),
    ...(turns !== undefined && { turn_detection: turns === null ? null : turnsOf(`${path}.turn_detection`, turns) }),
  };
}

function transcriptionOf(path: string, given: unknown): NonNullable<Input['transcription']> {
  const { language, prompt, model } = objectOf(path, given);
  for (const [name, value] of Object.entries({ language, prompt, model })) {
    if (value !== undefined && typeof value !== 'string') throw wrongValue(`${path}.${name}`, 'a string', value);
  }
  return { ...(given as object) };
}

/** Fields of turns: what they are, and within which bounds. */
const NUMBERS: readonly (readonly [keyof TurnDetection, number, number])[] = [
  ['threshold', 0, 1],
  ['prefix_padding_ms', 0, 1000],
  ['silence_duration_ms', 100, 5000],
];

function turnsOf(path: string, given: unknown): TurnDetection {
  const fields = objectOf(path, given);
  const names = [...NUMBERS.map(([name]) => name), 'create_response', 'interrupt_response'];
  refuseUnknown(path, fields, ['type', ...names, 'eagerness', 'idle_timeout_ms']);
  const { type } = fields;
  if (type !== 'server_vad' && type !== 'semantic_vad') throw wrongValue(`${path}.type`, "'server_vad'", type);
  for (const [name, least, most] of NUMBERS) {
    const value = fields[name] ?? least;
    if (typeof value === 'number' && value >= least && value <= most) continue;
    throw wrongValue(`${path}.${name}`, `from ${least} to ${most}`, value);
  }
  return { ...(fields as Partial<TurnDetection>), type };
}

type Output = RealtimeSession['audio']['output'];

function outputOf(before: Output, given: unknown): Output {
  const path = 'session.audio.output';
  const fields = objectOf(path, given);
  refuseUnknown(path, fields, ['format', 'voice', 'speed']);
  checkFormat(`${path}.format`, fields.format);
  const { speed = before.speed, voice = before.voice } = fields;
  const wrong = SPEED(speed);
  if (wrong) throw wrongValue(`${path}.speed`, wrong, speed);
  const name = typeof voice === 'string' ? voice : (voice as { id?: unknown } | null)?.id;
  if (typeof name !== 'string') throw wrongValue(`${path}.voice`, 'a name', voice);
  return { ...before, speed: speed as number, voice: name };
}

function checkFormat(path: string, format: unknown): void {
  if (format === undefined) return;
  const { type = 'audio/pcm', rate = PCM_RATE } = objectOf(path, format);
  if (type !== 'audio/pcm') throw wrongValue(`${path}.type`, "'audio/pcm'", type);
  if (rate !== PCM_RATE) throw wrongValue(`${path}.rate`, `${PCM_RATE}`, rate);
}

/** @internal */
export function objectOf(path: string, value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw wrongValue(path, 'an object', value);
}

function refuseUnknown(path: string, fields: Fields, known: readonly string[]): void {
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new Refusal('unknown_parameter', `unknown field '${path}.${unknown}'`, `${path}.${unknown}`);
}
