// Words that say less than the field's own terms, and comments that begin with a word that refers to something else.

import { languageOf, lex, linesOf } from './lexer.mjs';
import { note } from './ratchet.mjs';

/** "What it has learned" says what. */
const LEARNED = '(?! (?:not )?(?:been|found|learned|made|read|seen|written)\\b)';
/** Patterns, and what to write instead. */
const WORDS = [
  [/\bso many\b/gi, '"so many": name the number'],
  [/\bforet(?:ell|old)/gi, '"foretell": predict, draft, speculative decoding'],
  [new RegExp(`\\bwhat (?:it|they|one) ha(?:s|ve)\\b${LEARNED}`, 'gi'), '"what it has": name the thing'],
  [/\bof those (?:that|which)\b/gi, '"of those that": name the thing'],
  [/\bthat of\b/gi, '"that of": name the thing'],
  [/\bthose of\b/gi, '"those of": name the thing'],
  [/\bthe rest\b/gi, '"the rest": name the thing'],
];
const OPENING = 'comments that begin with Of, That, Those or Its';
const OPENS = /^(?:\/\/[/!]?|\/\*\*?)\s*(?:\*\s*)?(?:Of|That|Those|Its)\b/;

/** Records stay as they were written; the checks themselves name the words. */
const UNREAD = /^docs\/records\/|^CONTRIBUTING|^tools\/style\/|^tests\/tools\/style|\.toml$/;

/** The folder that counts for a file, so that files may move inside of it. */
const folderOf = (file) => (file.includes('/') ? file.split('/')[0] : '.');

/** Hits of the words, by word and folder. */
export function words(sources) {
  const found = Object.fromEntries(WORDS.map(([, title]) => [title, new Map()]));
  for (const { file, text } of sources.filter(({ file }) => !UNREAD.test(file))) {
    for (const [pattern, title] of WORDS) {
      for (const { index } of text.matchAll(pattern)) note(found[title], folderOf(file), placeOf(file, text, index));
    }
  }
  return found;
}

/** Comments that begin with one of the words, by folder. */
export function openings(sources) {
  const found = new Map();
  const scripts = sources.filter(({ file }) => /\.(rs|wgsl|ts|js|mjs)$/.test(file) && !UNREAD.test(file));
  for (const { file, text } of scripts) {
    for (const at of openingsOf(text, languageOf(file))) note(found, folderOf(file), placeOf(file, text, at));
  }
  return { [OPENING]: found };
}

/** Where such comments begin; a line comment right below another one goes on with it. */
export function openingsOf(text, language) {
  const { comments } = lex(text, language);
  const lineOf = linesOf(text);
  const isAlone = (at) => /^[ \t]*$/.test(text.slice(text.lastIndexOf('\n', at - 1) + 1, at));
  const goesOn = comments.map((comment, i) => {
    const before = comments[i - 1];
    const areLines = before?.text.startsWith('//') && comment.text.startsWith('//');
    return Boolean(areLines) && isAlone(comment.at) && lineOf(before.at) + 1 === lineOf(comment.at);
  });
  return comments.filter((comment, i) => OPENS.test(comment.text) && !goesOn[i]).map(({ at }) => at);
}

function placeOf(file, text, index) {
  const line = text.slice(text.lastIndexOf('\n', index - 1) + 1).split('\n', 1)[0];
  return `${file}:${linesOf(text)(index)}: ${line.trim().slice(0, 100)}`;
}
