/**
 * The microphone, and sounds of a `MediaStream` as pieces of samples.
 */
import { WebggufError } from '../errors.js';
import { captureProcessor } from './capture-worklet.js';
import type { SoundPiece } from './types.js';
import { addWorklet } from './worklet.js';

const WHY: Record<string, string> = {
  NotAllowedError: 'was refused',
  SecurityError: 'was refused',
  NotFoundError: 'is not there',
  OverconstrainedError: 'is not there as the page wants it',
  NotReadableError: 'cannot be used, another program may have it',
  AbortError: 'stopped',
};

/**
 * Opens the microphone.
 *
 * @throws {WebggufError} `microphone_unavailable`, whose message says why
 * @internal
 */
export async function openMicrophone(wanted: true | object): Promise<MediaStream> {
  const devices = globalThis.navigator?.mediaDevices as MediaDevices | undefined;
  if (!devices) {
    const message = 'the microphone is not there: pages may use one on https: and on localhost alone';
    throw new WebggufError('microphone_unavailable', message);
  }
  const usual = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  const audio = wanted === true ? usual : { ...usual, ...wanted };
  try {
    return await devices.getUserMedia({ audio });
  } catch (cause) {
    const { name, message } = cause as DOMException;
    const why = WHY[name] ?? `cannot be used: ${message}`;
    throw new WebggufError('microphone_unavailable', `the microphone ${why} (${name})`, { cause });
  }
}

/** Pieces that wait for a reader: at most ten seconds of 48 kHz; then the oldest are dropped. */
const WAITING = 470;

/** What a stream gives, from now on; the iteration ends with its tracks and with `signal`. @internal */
export async function* soundOf(stream: MediaStream, signal: AbortSignal): AsyncGenerator<SoundPiece> {
  if (stream.getAudioTracks().length === 0) {
    throw new WebggufError('microphone_unavailable', 'the stream has 0 tracks of sound, expected 1 or more');
  }
  const context = new AudioContext();
  const waiting: Float32Array[] = [];
  let [wake, isOver] = [(): void => {}, false];
  const end = (): void => {
    isOver = true;
    wake();
  };
  const tracks = stream.getAudioTracks();
  for (const track of tracks) track.addEventListener('ended', end);
  signal.addEventListener('abort', end);
  try {
    const url = new URL('./capture-worklet.js', import.meta.url);
    await addWorklet(context, { url, code: captureProcessor });
    const node = new AudioWorkletNode(context, 'webgguf-capture', { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
      waiting.push(data);
      if (waiting.length > WAITING) waiting.shift();
      wake();
    };
    context.createMediaStreamSource(stream).connect(node);
    // A context that began without a gesture of the user sleeps.
    void context.resume().catch(() => {});
    while (!isOver && !signal.aborted) {
      const samples = waiting.shift();
      if (samples) yield { samples, sampleRate: context.sampleRate };
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    for (const track of tracks) track.removeEventListener('ended', end);
    signal.removeEventListener('abort', end);
    await context.close();
  }
}
