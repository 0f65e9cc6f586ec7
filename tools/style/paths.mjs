// Paths that documents name between back-ticks: each must be that of a file of the repository, or the end of one.

import { ask } from '../common.mjs';
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

/** Paths in documents that lead nowhere, by document. */
export function lostPaths(sources) {
  const listed = ask('git', ['ls-files', '--cached', '--others', '--exclude-standard']) ?? '';
  const ends = endsOf(listed.split('\n'));
  const found = new Map();
  for (const { file, text } of sources.filter(({ file }) => DOCUMENT.test(file))) {
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

/** The paths that a document names and that are no end of a path. */
export function lostIn(file, text, ends) {
  const prose = text.replaceAll(/```[^]*?```/g, '');
  const names = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name);
  const isPath = (name) => PATH.test(name) && !MADE.test(name) && (!FOR_USERS.test(file) || OURS.test(name));
  return [...new Set(names)].filter((name) => isPath(name) && !ends.has(name));
}
