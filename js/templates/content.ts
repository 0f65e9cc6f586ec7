/**
 * Content of messages as a template reads it: a string, or a list of parts, over which the templates of SmolVLM,
 * Idefics3 and LLaVA loop. Such a template writes nothing of a string and says nothing about it, so short conversations
 * find out which of the two it writes, as llama.cpp finds it out.
 */
import { invalidArgument, WebggufError } from '../errors.js';
import { MEDIA_MARK } from '../model/conversation.js';
import { renderConversation } from './render.js';
import type { ChatTemplate, ContentPart, Conversation, Medium, TemplateMessage } from './types.js';

type Content = TemplateMessage['content'];
type Kind = 'image' | 'audio';
/** `none`: the template writes neither. */
type Shape = 'string' | 'parts' | 'none';

/** What is known of a template: the shape of content by role, and what is written for an image and for a sound. */
interface Facts {
  readonly shapes: Map<string, Shape>;
  readonly signs: Map<Kind, string>;
}

/** A page has few templates; templates of hostile files must not pile up. */
const KEPT = 16;
const known = new Map<string, Facts>();

/** What is looked for in a text: no template changes digits. */
const WORD = '60917438';
const USER: TemplateMessage = { role: 'user', content: '27' };
const CALL = { id: 'call12345', type: 'function', function: { name: 'f', arguments: {} } };

/** What stands before and behind a message of a role; any other role is taken as the user's. */
const AROUND: Record<string, readonly [before: TemplateMessage[], behind: TemplateMessage[]]> = {
  user: [[], []],
  system: [[], [USER]],
  assistant: [[USER], [USER]],
  tool: [[USER, { role: 'assistant', content: '', tool_calls: [CALL] }], []],
};

/**
 * The conversation as the template writes it, with a mark for each image and sound.
 *
 * @throws {WebggufError} `invalid_argument` where the template refuses it, or does not write what the user says
 * @internal
 */
export function writeConversation(given: ChatTemplate, conversation: Conversation): string {
  const template = conversation.tools && given.tools ? { ...given, source: given.tools } : given;
  const { messages, media = [] } = conversation;
  messages.forEach(({ role }, index) => refuseRole(template, role, index));
  const shapes = messages.map(({ role }) => shapeOf(template, role));
  if (shapes.every((shape) => shape === 'string')) return renderConversation(template, conversation);
  messages.forEach((message, index) => {
    if (shapes[index] === 'none') refuseText(message);
  });
  const rest = [...media];
  const inParts: Medium[] = [];
  const partsFor = (message: TemplateMessage, index: number): TemplateMessage => {
    const own = rest.splice(0, marksIn(message.content));
    if (shapes[index] === 'string') return message;
    inParts.push(...own);
    return { ...message, content: partsOf(message.content, own) };
  };
  const typed = { ...conversation, messages: messages.map(partsFor) };
  const text = inParts.length > 0 ? attempt(template, typed) : renderConversation(template, typed);
  const marked = text === undefined ? undefined : withMarks(text, inParts.map(kindOf), template);
  if (marked !== undefined) return marked;
  // What it writes for images cannot be told from other text: marks go through it as text.
  const asText = messages.map((message, index) =>
    shapes[index] === 'string' ? message : { ...message, content: partsOf(message.content, []) },
  );
  return renderConversation(template, { ...conversation, messages: asText });
}

/** Names that other interfaces have for roles. */
const MISTAKEN: Record<string, string> = { bot: 'assistant', chatbot: 'assistant', ai: 'assistant', human: 'user' };

/** A template that does not name such a role would leave its messages out, or write what no model was trained on. */
function refuseRole({ source = '' }: ChatTemplate, role: string, index: number): void {
  const meant = Object.hasOwn(MISTAKEN, role) ? MISTAKEN[role] : undefined;
  if (!meant || new RegExp(`['"]${role}['"]`).test(source)) return;
  throw invalidArgument(`message ${index}: the chat template knows no role '${role}', did you mean '${meant}'?`);
}

function refuseText({ role, content }: TemplateMessage): void {
  const isSaid = typeof content === 'string' && content.replaceAll(MEDIA_MARK, '').trim() !== '';
  if (!isSaid) return;
  throw invalidArgument(
    `the chat template writes nothing of the text in messages of the role '${role}', neither as a string nor in parts`,
  );
}

/** A video is written as an image is: its frames stand where the mark is. */
const kindOf = (medium: Medium): Kind => ('audio' in medium ? 'audio' : 'image');
const marksIn = (content: Content): number => (typeof content === 'string' ? content.split(MEDIA_MARK).length - 1 : 0);

/** Texts, and between them the images and sounds whose marks stand there; without `media` the marks are text. */
function partsOf(content: Content, media: readonly Medium[]): readonly ContentPart[] {
  const text = typeof content === 'string' ? content : '';
  if (media.length === 0) return [{ type: 'text', text }];
  return text.split(MEDIA_MARK).flatMap((piece, at): ContentPart[] => {
    const medium = media[at];
    const said: ContentPart[] = piece === '' ? [] : [{ type: 'text', text: piece }];
    return medium ? [...said, { type: kindOf(medium) }] : said;
  });
}

/** The text with marks in place of what the template writes for these; nothing if their numbers differ. */
function withMarks(text: string, kinds: readonly Kind[], template: ChatTemplate): string | undefined {
  const signs = kinds.map((kind) => signOf(template, kind));
  let found = 0;
  for (const sign of new Set(signs)) found += sign === '' ? 0 : text.split(sign).length - 1;
  if (found !== kinds.length) return undefined;
  let [out, from] = ['', 0];
  for (const sign of signs) {
    const at = sign === '' ? -1 : text.indexOf(sign, from);
    if (at < 0) return undefined;
    out += text.slice(from, at) + MEDIA_MARK;
    from = at + sign.length;
  }
  return out + text.slice(from);
}

/** What the template writes for an image or a sound between texts of the user; empty where that is nothing. */
function signOf(template: ChatTemplate, kind: Kind): string {
  const { signs } = factsOf(template);
  let sign = signs.get(kind);
  if (sign === undefined) {
    const word: ContentPart = { type: 'text', text: WORD };
    const written = (...content: ContentPart[]): string =>
      attempt(template, { messages: [{ role: 'user', content }] }) ?? '';
    sign = inserted(written(word, word), written(word, { type: kind }, word)).trim();
    signs.set(kind, sign);
  }
  return sign;
}

/** Names of control tokens, one or several. */
const TOKENS = /^[<[].*[>\]]$/s;

/** What was inserted into `text` to make `longer`; empty where they differ in more than one place. */
function inserted(text: string, longer: string): string {
  let same = 0;
  while (same < text.length && text.at(-1 - same) === longer.at(-1 - same)) same++;
  const most = longer.length - text.length;
  let first = '';
  // If "<|c|>" was inserted into "<|a|><|b|>", "|c|><" was inserted as well.
  for (let from = text.length - same; from <= text.length && longer.startsWith(text.slice(0, from)); from++) {
    const found = longer.slice(from, from + most).trim();
    if (TOKENS.test(found)) return found;
    first ||= found;
  }
  return first;
}

/** How the template reads content of a role. */
function shapeOf(template: ChatTemplate, role: string): Shape {
  const { shapes } = factsOf(template);
  const asked = Object.hasOwn(AROUND, role) ? role : 'user';
  const shape = shapes.get(asked) ?? probed(template, asked);
  shapes.set(asked, shape);
  return shape;
}

function probed(template: ChatTemplate, role: string): Shape {
  const [before, behind] = (AROUND[role] as (typeof AROUND)[string]).map((messages) =>
    messages.map((message) => shaped(template, message, role)),
  ) as [TemplateMessage[], TemplateMessage[]];
  const written = (content: Content): string | undefined =>
    attempt(template, { messages: [...before, { role, content }, ...behind] });
  const asString = written(WORD);
  if (asString?.includes(WORD)) return 'string';
  if (written([{ type: 'text', text: WORD }])?.includes(WORD)) return 'parts';
  // Other roles a template may leave out; where it refuses, it says why itself.
  return role === 'user' && asString !== undefined ? 'none' : 'string';
}

/** A message beside the one in question, as the template reads it. */
function shaped(template: ChatTemplate, message: TemplateMessage, asked: string): TemplateMessage {
  if (message.role === asked || shapeOf(template, message.role) !== 'parts') return message;
  return { ...message, content: partsOf(message.content, []) };
}

function factsOf({ source = '' }: ChatTemplate): Facts {
  let facts = known.get(source);
  if (!facts) {
    if (known.size >= KEPT) known.clear();
    facts = { shapes: new Map(), signs: new Map() };
    known.set(source, facts);
  }
  return facts;
}

/** Nothing where the template refuses. */
function attempt(template: ChatTemplate, conversation: Conversation): string | undefined {
  try {
    return renderConversation(template, conversation);
  } catch (error) {
    if (error instanceof WebggufError && error.code === 'invalid_argument') return undefined;
    throw error;
  }
}
