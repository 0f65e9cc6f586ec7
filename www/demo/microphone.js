// A sound from the microphone: how loud it is and how long it takes stands above the field while it records.

import { $, announce } from './dom.js';
import { MediaInput } from './media-input.js';
import { clock } from './sounds.js';

/** Seconds of a recording, at most. */
const LONGEST = 120;
/** Bars of the meter, each a twentieth of a second. */
const BARS = 60;

const microphone = new MediaInput({ name: 'microphone', instead: 'sound', constraints: { audio: true } });

/** What records now; `isKept` says whether the sound becomes part of the message. */
let recording;

async function openMicrophone({ attach, note, hideNote }) {
  if (end(true)) return;
  hideNote();
  if (!(await microphone.open(note, (stream) => record(stream, attach)))) return;
  $('microphone').hidden = false;
  $('open-microphone').setAttribute('aria-expanded', 'true');
  $('microphone-done').focus();
  announce('Recording');
}

function record(stream, attach) {
  const recorder = new MediaRecorder(stream);
  const parts = [];
  const mine = { recorder, begun: performance.now(), isKept: false };
  mine.meter = new Meter(stream, $('microphone-level'));
  recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
  recorder.addEventListener('stop', () => {
    if (!mine.isKept) return;
    const type = recorder.mimeType;
    const ending = /ogg/.test(type) ? 'ogg' : /mp4/.test(type) ? 'm4a' : 'weba';
    const time = new Date().toLocaleTimeString('en-GB').replaceAll(':', '.');
    attach([new File(parts, `Recording ${time}.${ending}`, { type })]);
  });
  stream.getAudioTracks()[0].addEventListener('ended', () => end(true));
  recorder.start();
  mine.timer = setInterval(() => tick(mine), 50);
  recording = mine;
}

function tick({ begun, meter }) {
  const seconds = (performance.now() - begun) / 1000;
  $('microphone-time').textContent = `${clock(seconds)} of ${clock(LONGEST)}`;
  meter.draw();
  if (seconds >= LONGEST) end(true);
}

/** Closes the microphone, if it is open; returns whether it was. */
export const closeMicrophone = () => end(false);

function end(isKept) {
  if (!recording) {
    microphone.close(); // it may be asked for
    return false;
  }
  const { recorder, timer, meter } = recording;
  recording.isKept = isKept;
  recording = undefined;
  clearInterval(timer);
  if (recorder.state !== 'inactive') recorder.stop();
  meter.close();
  microphone.close();
  $('microphone').hidden = true;
  $('open-microphone').setAttribute('aria-expanded', 'false');
  (isKept ? $('prompt') : $('open-microphone')).focus();
  return true;
}

/** How loud it was in the last few seconds, as bars. */
class Meter {
  #context = new AudioContext();
  #analyser = this.#context.createAnalyser();
  #samples = new Float32Array(this.#analyser.fftSize);
  #levels = [];
  #canvas;

  constructor(stream, canvas) {
    this.#canvas = canvas;
    this.#context.createMediaStreamSource(stream).connect(this.#analyser);
  }

  draw() {
    this.#analyser.getFloatTimeDomainData(this.#samples);
    const loudest = this.#samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    this.#levels = [...this.#levels, Math.sqrt(loudest)].slice(-BARS);
    const { width, height } = this.#canvas;
    const context = this.#canvas.getContext('2d');
    context.clearRect(0, 0, width, height);
    context.fillStyle = getComputedStyle(this.#canvas).color;
    const step = width / BARS;
    this.#levels.forEach((level, at) => {
      const tall = Math.max(2, Math.min(1, level) * height);
      context.fillRect((BARS - this.#levels.length + at) * step, (height - tall) / 2, step * 0.6, tall);
    });
  }

  close() {
    void this.#context.close();
  }
}

export function wireMicrophone({ attach, note, hideNote }) {
  $('open-microphone').addEventListener('click', () => openMicrophone({ attach, note, hideNote }));
  $('microphone-done').addEventListener('click', () => end(true));
  $('microphone-cancel').addEventListener('click', closeMicrophone);
  addEventListener('pagehide', closeMicrophone);
}
