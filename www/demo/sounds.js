// A sound that a person gives: decoded once to know how long it is. The library gets the file as it is.

import { newId } from './dom.js';
import { oneLine } from './one-line.js';

/** Bytes of a file, at most: its samples have to fit the page's memory, too. */
const MOST_BYTES = 100e6;

/** @typedef {{id: string, kind: 'sound', name: string, seconds: number, file?: Blob}} Sound */

/** Whether a file may be a sound, by its type and name. */
export const looksLikeSound = ({ type, name }) =>
  type.startsWith('audio/') || /\.(wav|mp3|m4a|aac|ogg|oga|opus|flac|weba)$/i.test(name ?? '');

/**
 * The sound in a file.
 * @param {Blob & {name?: string}} file
 * @returns {Promise<Sound>}
 * @throws {Error} in words for the person who gave it
 */
export async function readSound(file) {
  const name = oneLine(file.name) || 'Sound';
  if (file.size > MOST_BYTES) {
    const megabytes = Math.ceil(file.size / 1e6).toLocaleString('en');
    throw new Error(`${name} has ${megabytes} MB; a sound may have ${MOST_BYTES / 1e6}.`);
  }
  const bytes = await file.arrayBuffer();
  const { duration } = await new OfflineAudioContext(1, 1, 16_000).decodeAudioData(bytes).catch(() => {
    throw new Error(`${name} is no sound that this browser can play.`);
  });
  if (duration === 0) throw new Error(`${name} is empty: there is nothing to hear.`);
  return { id: newId(), kind: 'sound', name, seconds: duration, file };
}

/** Minutes and seconds. */
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

export const describeSound = ({ name, seconds }) => `${name}, ${clock(seconds)}`;
