/**
 * Texts as they are read aloud, and their sentences.
 */
import { checkText, show } from '../../check.js';
import { invalidArgument } from '../../errors.js';
import { de } from './de.js';
import { withNames } from './emoji.js';
import { en } from './en.js';
import { es } from './es.js';
import { fr } from './fr.js';
import type { SpokenLanguage } from './language.js';
import { withoutMarkdown } from './markdown.js';
import { Numbers } from './numbers.js';
import { zh } from './zh.js';

const LANGUAGES: Record<string, SpokenLanguage> = { en, de, fr, es, zh };
const numbers = new Map<string, Numbers>();

/** Characters of a text, and of a sentence that is read in one go. */
const [LONGEST, SENTENCE] = [100_000, 300];

function codeOf(language: string): string {
  if (typeof language !== 'string' || !/^[a-zA-Z]{2,3}\b/.test(language)) {
    throw invalidArgument(`spokenText: expected a language such as 'en', found ${show(language)}`);
  }
  return (language.split(/[-_]/)[0] as string).toLowerCase();
}

/** Abbreviations as words; a shorter one must not be found in a longer. */
function withoutShort(text: string, { short }: SpokenLanguage): string {
  return [...short]
    .sort(([one], [other]) => other.length - one.length)
    .reduce((said, [written, words]) => {
      const pattern = written.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '[ \\u00a0\\u202f]?');
      const found = new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])(?: *($)|)`, 'gmu');
      // At the end the abbreviation's point ends the sentence, too.
      return said.replaceAll(
        found,
        (_, end?: string) => words + (end !== undefined && written.endsWith('.') ? '.' : ''),
      );
    }, text);
}

/** Addresses as they are said: `example.com`, and `somebody @ example.com`. */
function withoutAddresses(text: string): string {
  return text.replaceAll(/\bhttps?:\/\/(?:www\.)?([^\s/?#)\]>]{1,255})[^\s)\]>]*/g, (_, host: string) =>
    host.replace(/:\d+$/, '').replace(/[.,;!]+$/, ''),
  );
}

function withSigns(text: string, { signs, isJoined }: SpokenLanguage): string {
  const space = isJoined ? '' : ' ';
  return Object.entries(signs).reduce((said, [sign, words]) => said.replaceAll(sign, `${space}${words}${space}`), text);
}

/**
 * A text as it is read aloud: without Markdown, code and addresses, and with numbers, dates, times, units, money,
 * abbreviations, signs and the most frequent emoji as words, in English, German, French, Spanish and Chinese. In other
 * languages Markdown, code, addresses and emoji go, and numbers stay figures.
 *
 * @param language the language of the text, such as `en` or `de-AT`
 * @example
 * spokenText('**Dr. Li** ran 5 km in 21:07.', 'en'); // 'Doctor Li ran five kilometers in twenty-one oh seven.'
 */
export function spokenText(text: string, language: string): string {
  checkText('spokenText', text);
  const code = codeOf(language);
  if (text.length > LONGEST) {
    throw invalidArgument(`spokenText: a text of ${text.length} characters, at most ${LONGEST}`);
  }
  const plain = withNames(withoutAddresses(withoutMarkdown(text.normalize('NFC'))), code);
  const rules = Object.hasOwn(LANGUAGES, code) ? LANGUAGES[code] : undefined;
  return tidied(rules ? inWords(plain, code, rules) : plain);
}

function inWords(text: string, code: string, rules: SpokenLanguage): string {
  const known = numbers.get(code) ?? new Numbers(rules);
  numbers.set(code, known);
  const { bend = (words: string) => words } = rules;
  return withSigns(bend(known.words(withoutShort(text.replaceAll(/#(?=\p{L})/gu, ''), rules))), rules);
}

/** Without marks that are silent, and with one space at most. */
function tidied(text: string): string {
  return text
    .replaceAll(/[*_~`^|<>{}\\]|\u200b|\u200c|\u200d|\u2060|\ufeff/g, ' ')
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ +(?=[,.;:!?…。，！？、])/g, '')
    .replaceAll(/ ?\n[\s]*/g, '\n')
    .trim();
}

/**
 * The sentences of a text, by `Intl.Segmenter`; one of more than 300 characters is cut at a comma or a space.
 *
 * @example
 * sentences('Hello. How are you?', 'en'); // ['Hello.', 'How are you?']
 */
export function sentences(text: string, language: string): string[] {
  checkText('sentences', text);
  const segmenter = new Intl.Segmenter(codeOf(language), { granularity: 'sentence' });
  const whole = Array.from(segmenter.segment(text), ({ segment }) => segment.trim()).filter(Boolean);
  return whole.flatMap((sentence) => [...cut(sentence)]);
}

function* cut(sentence: string): Generator<string> {
  let left = sentence;
  while (left.length > SENTENCE) {
    const head = left.slice(0, SENTENCE);
    const comma = Math.max(...[...head.matchAll(/[,;:–—，、；：](?=\s|[^ -~])/g)].map(({ index }) => index + 1), 0);
    const space = head.lastIndexOf(' ') + 1;
    const at = comma > SENTENCE / 3 ? comma : space > 0 ? space : wholeEnd(left);
    yield left.slice(0, at).trim();
    left = left.slice(at).trimStart();
  }
  if (left) yield left;
}

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Where the last character ends that fits a sentence; marks and joined signs belong to the one before them. */
function wholeEnd(text: string): number {
  const at = characters.segment(text.slice(0, 2 * SENTENCE)).containing(SENTENCE)?.index ?? SENTENCE;
  if (at > 0) return at;
  return /[\ud800-\udbff]/.test(text[SENTENCE - 1] as string) ? SENTENCE - 1 : SENTENCE;
}
