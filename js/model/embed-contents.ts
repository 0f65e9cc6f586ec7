/**
 * Inputs of embedders that hold images and sounds, and the texts that models want before what they embed.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { ModelInfo } from '../types/info.js';
import type { EmbedContent, EmbedTask } from '../types/read.js';
import type { Medium } from '../templates/types.js';
import { MEDIA_MARK, mediaAsTheyAre, mediumOf, textOfPart, withoutMarks } from './conversation.js';
import { checkInputs, type Input, isContent } from './embedding.js';
import { textPrompt, withMedia } from './prompt.js';

/** The prompts of EmbeddingGemma 1 and 2, by what they are for. */
const TASKS: Record<EmbedTask, string> = {
  'search query': 'task: search result | query: ',
  document: 'title: none | text: ',
  'question answering': 'task: question answering | query: ',
  'fact checking': 'task: fact checking | query: ',
  classification: 'task: classification | query: ',
  clustering: 'task: clustering | query: ',
  'sentence similarity': 'task: sentence similarity | query: ',
  'code retrieval': 'task: code retrieval | query: ',
};

/** Architectures whose models were trained with these. */
const WITH_TASKS = ['gemma-embedding', 'gemma-embedding2'];

/** As `checkInputs`, with the prompt of a task, and with contents. @internal */
export function contentInputs(inputs: unknown, task: EmbedTask | undefined, info: ModelInfo): Input[] {
  const prompt = task === undefined ? '' : promptOf(task, info);
  const texts = Array.isArray(inputs) ? inputs.map((input) => (isContent(input) ? '' : input)) : inputs;
  return checkInputs('embed', 'text', texts, info.vocabularySize).map((text, index) => {
    const given: unknown = (inputs as readonly unknown[])[index];
    if (isContent(given)) return joined(`embed: text ${index}`, given, prompt);
    if (typeof text === 'string') return prompt + text;
    if (prompt === '') return text;
    throw invalidArgument(`embed: text ${index} is token ids, which are taken as they are: not with option 'task'`);
  });
}

function promptOf(task: string, { architecture }: ModelInfo): string {
  if (!Object.hasOwn(TASKS, task)) {
    const names = Object.keys(TASKS).map((name) => `'${name}'`);
    throw invalidArgument(`embed: option 'task' must be one of ${names.join(', ')}, found ${show(task)}`);
  }
  if (WITH_TASKS.includes(architecture)) return TASKS[task as EmbedTask];
  const why = `what models of architecture ${architecture} want before a text is not known`;
  throw invalidArgument(`embed: option 'task': ${why}: write it in front of the text`);
}

/** Texts one behind the other, and images and sounds where they stand between them. */
function joined(where: string, given: EmbedContent, prompt: string): Input {
  const content: unknown = 'content' in given ? given.content : [given];
  const parts: unknown = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  if (!Array.isArray(parts) || parts.length === 0) {
    throw invalidArgument(`${where}: content must be a string or an array of parts, found ${show(content)}`);
  }
  const media: Medium[] = [];
  const texts = parts.map((part: unknown, index) => {
    const text = textOfPart(part);
    if (text !== undefined) return withoutMarks(text);
    const medium = mediumOf(part);
    if (!medium) {
      const expected = "{ type: 'text', text }, or an 'image', a 'video' or an 'audio' under the name of its type";
      throw invalidArgument(`${where}: content[${index}] must be ${expected}, found ${show(part)}`);
    }
    media.push(medium);
    return MEDIA_MARK;
  });
  return textPrompt(withMedia(prompt + texts.join(''), mediaAsTheyAre(media)));
}
