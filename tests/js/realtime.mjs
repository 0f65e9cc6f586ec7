// What tests of realtime sessions share.

import { createRealtime } from '../../dist/voice/index.js';
import { pcm16 } from '../../dist/voice/wav.js';

/** Samples each second of what comes in and goes out. */
export const RATE = 24_000;

/** A session whose events are kept. `until` waits for one of a type. */
export function begin(options) {
  const realtime = createRealtime(options);
  const events = [];
  const waiting = [];
  realtime.on('event', (event) => {
    events.push(event);
    for (const entry of waiting.filter(({ type }) => type === event.type)) {
      waiting.splice(waiting.indexOf(entry), 1);
      entry.resolve(event);
    }
  });
  const until = (type) => new Promise((resolve) => waiting.push({ type, resolve }));
  const types = () => events.map(({ type }) => type);
  return { realtime, events, until, types };
}

/** A sound as events have it. */
export const base64 = (samples) => Buffer.from(pcm16(samples)).toString('base64');

/** Seconds of sound in events. */
export const secondsOf = (events) =>
  events
    .filter(({ type }) => type === 'response.output_audio.delta')
    .reduce((sum, { delta }) => sum + Buffer.from(delta, 'base64').length / 2, 0) / RATE;

/** What the user writes. */
export const message = (text) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
