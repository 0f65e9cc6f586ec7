/**
 * Questions, checked, as what the model is asked: a text and the labels that it may answer with.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { Options, Question, Questions } from './types.js';

/** An answer and what the model writes for it. @internal */
export interface Label {
  readonly name: string;
  readonly text: string;
}

/** What the model is asked at once. @internal */
export interface Item {
  /** The name of the question. */
  readonly name: string;
  readonly question: Question;
  /** The option that it is about, of a question with several answers. */
  readonly option: string | undefined;
  readonly task: string;
  readonly labels: readonly Label[];
}

const TYPES = ['choice', 'multiple', 'score', 'boolean'];
const YES_OR_NO = ['true', 'false'];
const FIELDS = ['type', 'instructions', 'criteria', 'labels', 'threshold'];

/** At least one item for each question. @internal */
export function itemsOf(call: string, questions: Questions): Item[] {
  if (typeof questions !== 'object' || questions === null || Array.isArray(questions)) {
    throw invalidArgument(`${call}: 'questions' must be an object of questions by name, found ${show(questions)}`);
  }
  const named = Object.entries(questions);
  if (named.length === 0) throw invalidArgument(`${call}: 'questions' must have at least one question`);
  return named.flatMap(([name, question]) => itemsOfOne(`${call}: question ${show(name)}`, name, question));
}

function itemsOfOne(where: string, name: string, question: Question): Item[] {
  checkFields(where, question);
  const { type, instructions } = question;
  const item = (task: readonly string[], labels: readonly Label[], option?: string): Item => {
    const lines = [instructions ?? '', ...task].filter((line) => line !== '');
    return { name, question, option, task: lines.join('\n'), labels };
  };
  if (type === 'boolean') {
    const labels = labelsOf(where, question, YES_OR_NO);
    return [item([...criteriaOf(where, question.criteria, labels), answerWith(labels)], labels)];
  }
  if (type === 'score') {
    const levels = levelsOf(where, question.criteria);
    const labels = labelsOf(where, question, Object.keys(levels));
    const lines = labels.map(({ text }, level) => line(text, levels[level]));
    return [item(['Levels:', ...lines, 'Answer with the number of one level.'], labels)];
  }
  const options = optionsOf(where, question.criteria);
  if (type === 'choice') {
    const names = options.map(([option]) => option);
    const labels = labelsOf(where, question, names);
    const lines = labels.map(({ text }, at) => `- ${line(text, options[at]?.[1])}`);
    return [item(['Options:', ...lines, 'Answer with one of the options, word for word.'], labels)];
  }
  const labels = labelsOf(where, question, YES_OR_NO);
  return options.map(([option, about]) => {
    const task = [`Option: ${line(option, about)}`, `Does this option apply? ${answerWith(labels)}`];
    return item(task, labels, option);
  });
}

function checkFields(where: string, question: Question): void {
  if (typeof question !== 'object' || question === null) {
    throw invalidArgument(`${where} must be an object with a 'type', found ${show(question)}`);
  }
  const { type, instructions, criteria } = question;
  if (!TYPES.includes(type)) {
    throw invalidArgument(`${where}: 'type' must be ${TYPES.join(', ')}, found ${show(type)}`);
  }
  const unknown = Object.keys(question).find((field) => !FIELDS.includes(field));
  if (unknown) throw invalidArgument(`${where}: unknown field '${unknown}'; known are ${FIELDS.join(', ')}`);
  if (instructions != null && typeof instructions !== 'string') {
    throw invalidArgument(`${where}: 'instructions' must be a string, found ${show(instructions)}`);
  }
  if (!instructions?.trim() && (criteria == null || (type === 'boolean' && Object.keys(criteria).length === 0))) {
    throw invalidArgument(`${where} is empty: it has neither 'instructions' nor 'criteria'`);
  }
  const threshold: unknown = type === 'multiple' ? question.threshold : undefined;
  if (threshold !== undefined && !((threshold as number) >= 0 && (threshold as number) <= 1)) {
    throw invalidArgument(`${where}: 'threshold' must be from 0 to 1, found ${show(threshold)}`);
  }
}

/** Names with descriptions; at least two, no name twice. */
function optionsOf(where: string, criteria: Options): (readonly [string, unknown])[] {
  const list = Array.isArray(criteria)
    ? criteria.map((name: unknown) => [name as string, null] as const)
    : Object.entries((criteria ?? {}) as Record<string, unknown>);
  const least = 2;
  if (list.length < least)
    throw invalidArgument(`${where}: 'criteria' must have ${least} options, found ${list.length}`);
  const names = new Set<unknown>();
  for (const [name, about] of list) {
    if (typeof name !== 'string' || !name.trim()) {
      throw invalidArgument(`${where}: an option must have a name, found ${show(name)}`);
    }
    if (names.has(name)) throw invalidArgument(`${where}: option ${show(name)} is there twice`);
    checkAbout(where, name, about);
    names.add(name);
  }
  return list;
}

function levelsOf(where: string, criteria: unknown): readonly unknown[] {
  if (!Array.isArray(criteria) || criteria.length < 2) {
    const found = Array.isArray(criteria) ? criteria.length : show(criteria);
    throw invalidArgument(`${where}: 'criteria' must be an array of 2 levels or more, found ${found}`);
  }
  for (const [level, about] of criteria.entries()) checkAbout(where, String(level), about);
  return criteria;
}

function criteriaOf(where: string, criteria: unknown, labels: readonly Label[]): string[] {
  const given = (criteria ?? {}) as Record<string, unknown>;
  const unknown = Object.keys(given).find((name) => !YES_OR_NO.includes(name));
  if (unknown !== undefined) {
    throw invalidArgument(`${where}: 'criteria' has the unknown label ${show(unknown)}; known are true, false`);
  }
  return labels.flatMap(({ name, text }) => {
    checkAbout(where, name, given[name]);
    return given[name] == null ? [] : [line(text, given[name])];
  });
}

function checkAbout(where: string, name: string, about: unknown): void {
  if (about == null || typeof about === 'string') return;
  throw invalidArgument(`${where}: the description of ${show(name)} must be a string or null, found ${show(about)}`);
}

/** What the model writes for each of `names`. */
function labelsOf(where: string, { type, labels = {} }: Question, names: readonly string[]): Label[] {
  const unknown = Object.keys(labels).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw invalidArgument(`${where}: 'labels' has the unknown label ${show(unknown)}; known are ${names.join(', ')}`);
  }
  const isYesOrNo = type === 'boolean' || type === 'multiple';
  const usual = (name: string): string => (!isYesOrNo ? name : name === 'true' ? 'yes' : 'no');
  const all = names.map((name) => ({
    name,
    text: Object.hasOwn(labels, name) ? (labels[name] as string) : usual(name),
  }));
  const seen = new Map<string, string>();
  for (const { name, text } of all) {
    if (typeof text !== 'string' || !text.trim()) {
      throw invalidArgument(`${where}: the label of ${show(name)} must be a text, found ${show(text)}`);
    }
    const other = seen.get(text);
    if (other !== undefined) {
      throw invalidArgument(`${where}: ${show(other)} and ${show(name)} have the same label ${show(text)}`);
    }
    seen.set(text, name);
  }
  return all;
}

const line = (name: string, about: unknown): string => (about == null || about === '' ? name : `${name}: ${about}`);

const answerWith = (labels: readonly Label[]): string => `Answer ${labels.map(({ text }) => text).join(' or ')}.`;
