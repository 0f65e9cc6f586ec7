// Paths between back-ticks in documents and in comments of Rust and WGSL: each must be a file or a folder of the
// repository, or the end of such a path.

import { ask } from '../common.mjs';
import { lex } from './lexer.mjs';
import { note } from './ratchet.mjs';

const DOCUMENT = /^(?:docs\/(?!records\/).*|ARCHITECTURE|CONTRIBUTING|README|SECURITY|tools\/.*|tests\/.*)\.md$/;
/** Pages for users name files of theirs, too: there only what begins with one of our folders is a path. */
const FOR_USERS = /^docs\/guides\/|^README\.md$|^docs\/[a-z]+\.md$/;
const OURS = /^(?:src|js|shaders|tests|tools|www|docs|examples|media|grammar)\//;
const PATH =
  /^[\w@.-]+(?:\/[\w@.-]+)*\.(?:rs|ts|js|mjs|wgsl|md|json|jsonl|py|toml|html|css|txt)$|^[\w@.-]+(?:\/[\w@.-]+)*\/$/;
/** Made by the build or by a page, and entries of the package. */
const MADE =
  /^(?:dist|pkg|site|node_modules|target|\.cache|www\/vendor|webgguf)\/|^(?:state\.json|training-worker\.js)$/;

/** Paths that lead nowhere, by file. */
export function lostPaths(sources) {
  const listed = ask('git', ['ls-files', '--cached', '--others', '--exclude-standard']) ?? '';
  const ends = endsOf(listed.split('\n'));
  const found = new Map();
  for (const { file, text } of sources) {
    for (const name of lostIn(file, text, ends)) note(found, file, name);
  }
  return { 'paths that are not there': found };
}

/** All ends of paths, and of their folders with a `/`. */
export function endsOf(files) {
  const ends = new Set();
  for (const file of files) {
    const parts = file.split('/');
    for (let first = 0; first < parts.length; first += 1) {
      for (let last = first + 1; last <= parts.length; last += 1) {
        ends.add(parts.slice(first, last).join('/') + (last < parts.length ? '/' : ''));
      }
    }
  }
  return ends;
}

/** The paths that a document or the comments of a source name, and that are not the end of a path. */
export function lostIn(file, text, ends) {
  const names = [...proseOf(file, text).matchAll(/`([^`\n]+)`/g)].map(([, name]) => name);
  const isOurs = (name) => (FOR_USERS.test(file) ? OURS.test(name) : file.endsWith('.md') || /\/./.test(name));
  const isLost = (name) => PATH.test(name) && isOurs(name) && !MADE.test(name) && !ends.has(name);
  return [...new Set(names)].filter(isLost);
}

/** Where names may be paths: a document without its samples, or the comments of a source. */
function proseOf(file, text) {
  if (DOCUMENT.test(file)) return text.replaceAll(/```[^]*?```/g, '');
  if (!/\.(rs|wgsl)$/.test(file)) return '';
  const { comments } = lex(text, file.endsWith('.rs') ? 'rs' : 'wgsl');
  return comments.map(({ text }) => text).join('\n');
}
