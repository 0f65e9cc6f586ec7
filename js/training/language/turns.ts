/**
 * Where in a conversation's text the answers of the assistant are, whatever the template makes of them.
 *
 * A template may write an answer otherwise than the message has it (trimmed, without its thoughts, a call as JSON), and
 * a conversation's beginning otherwise than the whole (a system message that moves to the last question). So nothing
 * is searched for. The conversation is rendered again with another text in place of one message: what differs between
 * the two is that message.
 */
import { invalidArgument, WebggufError } from '../../errors.js';
import type { Message, Tool, ToolCall } from '../../types/chat.js';

/** A conversation, and which of its messages are learned. @internal */
export interface Chat {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[] | undefined;
  readonly isLearned: readonly boolean[];
}

/** An answer in a text. @internal */
export interface Answer {
  /** Where it begins: what stands before is the prompt. */
  readonly start: number;
  /** Where its text ends; of calls where their arguments do. */
  readonly end: number;
  /** Where what closes its turn ends at the latest. */
  readonly closed: number;
  /** Whether it calls tools: what closes these belongs to the answer, too. */
  readonly calls: boolean;
}

/** Writes a conversation by the template of a model. @internal */
export type Render = (chat: Chat, addGenerationPrompt: boolean) => Promise<string>;

/** A noncharacter: it is part of no text, and nothing else here uses it. */
const OTHER = '\ufdd3';

/**
 * The text of a conversation, and the answers in it that are learned. Those that the template does not write are left
 * out.
 * @internal
 */
export async function answersOf(render: Render, chat: Chat): Promise<{ text: string; answers: Answer[] }> {
  const text = await render(chat, false);
  if (text.includes(OTHER)) throw invalidArgument('the messages hold U+FDD3, which is no character');
  const answers: Answer[] = [];
  let before = 0;
  for (const [index, isLearned] of chat.isLearned.entries()) {
    // For a message before an answer, only its end is of interest.
    if (!isLearned && !chat.isLearned[index + 1]) continue;
    const place = await placeOf(render, chat, index, text);
    if (place && isLearned) {
      const start = await startOf(render, chat, index, { text, from: before, to: place.from });
      const closed = place.to + (await closing(render, chat, index, text.slice(place.to)));
      answers.push({ start, end: place.to, closed, calls: place.calls });
    }
    before = place?.to ?? 0;
  }
  return { text, answers };
}

/** A part of a text. */
interface Region {
  readonly from: number;
  readonly to: number;
}

/** Where a message stands, and whether its calls are written there. */
interface Place extends Region {
  readonly calls: boolean;
}

/**
 * Where message `index` stands in `text`; `undefined` where it does not. What follows from a message elsewhere, such as
 * the results of calls, differs only with some of its variants, so the smallest end counts.
 */
async function placeOf(render: Render, chat: Chat, index: number, text: string): Promise<Place | undefined> {
  const regions: (Region & { isCall: boolean })[] = [];
  const refusals: WebggufError[] = [];
  const variants = variantsOf(chat.messages[index] as Message);
  for (const variant of variants) {
    const messages = chat.messages.map((message, at) => (at === index ? variant : message));
    const other = await attempt(
      () => render({ ...chat, messages }, false),
      (error) => refusals.push(error),
    );
    if (other === undefined || other === text) continue;
    if (variants.length === 1 && other.split(OTHER).length > 2) {
      throw invalidArgument(`messages[${index}]: the chat template writes it more than once`);
    }
    regions.push({ ...between(text, other), isCall: variant.tool_calls !== undefined });
  }
  if (refusals.length === variants.length) throw refusals[0];
  if (regions.length === 0) return undefined;
  const from = Math.min(...regions.map((region) => region.from));
  return { from, to: Math.min(...regions.map(({ to }) => to)), calls: regions.some(({ isCall }) => isCall) };
}

/** The message with another text, without calls; and with calls, which some templates ask for, that are others. */
function variantsOf(message: Message): Message[] {
  const { tool_calls: calls, reasoning_content: _, ...rest } = message;
  const plain = { ...rest, content: OTHER };
  if (!calls || calls.length === 0) return [plain];
  const changed = (change: object): Message => ({
    ...message,
    tool_calls: calls.map((call: ToolCall) => ({ ...call, function: { ...call.function, ...change } })),
  });
  const other = { arguments: JSON.stringify({ other: OTHER }) };
  return [plain, changed(other), changed({ ...other, name: OTHER })];
}

/** What of `text` differs from `other`. */
function between(text: string, other: string): Region {
  const from = commonStart(text, other);
  const most = Math.min(text.length, other.length) - from;
  let same = 0;
  while (same < most && text[text.length - 1 - same] === other[other.length - 1 - same]) same++;
  return { from, to: text.length - same };
}

/** How many characters two texts have in common at their start. */
function commonStart(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let same = 0;
  while (same < most && a[same] === b[same]) same++;
  return same;
}

/**
 * Where what the model writes begins: behind what the template puts at the end of a prompt. What comes then (the mark
 * of a thought, of a call) is the model's own. Where a template ends a prompt otherwise than the answer begins (R1's
 * opens a thought), it is where the answer's own text begins.
 *
 * @param place `from`: where the message before ends; `to`: where the answer's text begins
 */
async function startOf(
  render: Render,
  chat: Chat,
  index: number,
  { text, from, to }: Region & { readonly text: string },
): Promise<number> {
  const prompt = await attempt(() => render({ ...chat, messages: chat.messages.slice(0, index) }, true));
  if (prompt === undefined) return to;
  for (let start = to; start > from; start--) if (prompt.endsWith(text.slice(from, start))) return start;
  return to;
}

/** How much of what follows an answer follows it at the end of a conversation, too: what closes its turn. */
async function closing(render: Render, chat: Chat, index: number, rest: string): Promise<number> {
  const upTo = { ...chat, messages: chat.messages.slice(0, index + 1) };
  const text = await attempt(() => render(upTo, false));
  const place = text === undefined ? undefined : await attempt(() => placeOf(render, upTo, index, text));
  return text === undefined || place === undefined ? 0 : commonStart(rest, text.slice(place.to));
}

/** `undefined` where the template refuses. */
async function attempt<T>(work: () => Promise<T>, refused?: (error: WebggufError) => void): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WebggufError) || error.code !== 'invalid_argument') throw error;
    refused?.(error);
    return undefined;
  }
}
