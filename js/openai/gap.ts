/**
 * Prompts that ask for the text in a gap, as models were trained to fill it.
 */
import { invalidArgument } from '../errors.js';
import type { ChatModel } from './chat-model.js';

/** The tokens before what stands in front of the gap, before what stands behind it, and before the answer. */
interface Marks {
  readonly before: string;
  readonly behind: string;
  readonly middle: string;
  /** What stands behind the gap comes first. */
  readonly isReversed?: boolean;
}

const marks = (before: string, behind: string, middle: string, isReversed = false): Marks => ({
  ...{ before, behind, middle, isReversed },
});

const KNOWN: readonly Marks[] = [
  marks('<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'), // Qwen 2.5 Coder and later, CodeGemma, Granite 4
  marks('<fim_prefix>', '<fim_suffix>', '<fim_middle>'), // StarCoder, Granite Code, Refact
  marks('<fim-prefix>', '<fim-suffix>', '<fim-middle>'), // SantaCoder
  marks('<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'), // DeepSeek Coder
  marks('<|code_prefix|>', '<|code_suffix|>', '<|code_middle|>'), // GLM 4.5
  marks('<|fim_pre|>', '<|fim_suf|>', '<|fim_mid|>'), // LFM 2
  marks('<[fim-prefix]>', '<[fim-suffix]>', '<[fim-middle]>', true), // Seed Coder
  marks('▁<PRE>', '▁<SUF>', '▁<MID>'), // Code Llama
  marks('[PREFIX]', '[SUFFIX]', '', true), // Codestral, whose answer follows the prefix
];

/**
 * The prompt of a gap between two texts, in which names of control tokens are text.
 *
 * @throws {WebggufError} `invalid_argument` where the model's vocabulary has no tokens for it
 * @internal
 */
export async function promptOfGap(model: ChatModel, before: string, behind: string): Promise<string> {
  const found = await marksOf(model);
  if (!found) {
    const names = KNOWN.map((each) => each.before).join(', ');
    throw invalidArgument(
      `completions.create: field 'suffix': the model's vocabulary has no tokens for gaps, such as ${names}`,
    );
  }
  const front = found.before + (await model.protectedText(before, false));
  const back = found.behind + (await model.protectedText(behind, false));
  return (found.isReversed ? back + front : front + back) + found.middle;
}

async function marksOf(model: ChatModel): Promise<Marks | undefined> {
  for (const each of KNOWN) {
    const names = [each.before, each.behind, each.middle].filter((name) => name !== '');
    const tokens = await Promise.all(names.map((name) => model.tokenize(name, { parseSpecial: true })));
    if (tokens.every(({ length }) => length === 1)) return each;
  }
  return undefined;
}
