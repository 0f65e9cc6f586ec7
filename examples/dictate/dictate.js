// Sounds in messages: the page records with the microphone, and a model that hears writes what it heard.
import { downloading, modelOf, modelsFor } from '../load.js';
import { record } from './microphone.js';

// A GGUF on Hugging Face's hub with its encoder beside it, or others: ?model=/models/mine.gguf&mmproj=/models/ears.gguf
const address = new URLSearchParams(location.search);
const USUAL = {
  source: 'ggml-org/ultravox-v0_5-llama-3_2-1b-GGUF:Q4_K_M',
  words: 'Ultravox 1B and its encoder, 2.2 GB',
};
const [{ source: MODEL, words }] = modelsFor(USUAL, { isSmallEnough: false });
const ENCODER = address.get('mmproj') ?? true;
/** The longest recording in seconds: the encoder reads this much at once. */
const LONGEST = 30;

const [recording, open, stop, level, file, ask, status, error, texts] = [
  ...['record', 'open', 'stop', 'level', 'file', 'ask', 'status', 'error', 'texts'],
].map((id) => document.getElementById(id));

const withModel = modelOf(MODEL, status, { mmproj: ENCODER });
let microphone;
let controller;
/** What the button says: at first with what is downloaded after the recording. */
let begin = downloading('Record', words);
recording.textContent = begin;

/** A place for the sound and its words. */
function entryOf(sound) {
  const [item, player, words] = ['li', 'audio', 'p'].map((tag) => document.createElement(tag));
  player.controls = true;
  player.src = URL.createObjectURL(sound);
  Object.assign(words, { className: 'words' });
  item.className = 'card';
  item.append(player, words);
  texts.prepend(item);
  return { item, player, words };
}

/** Writes what the model hears. */
async function write(model, sound, words, signal) {
  const content = [
    { type: 'audio', audio: sound },
    { type: 'text', text: ask.value },
  ];
  status.textContent = 'listening';
  const begun = performance.now();
  const run = model.generate([{ role: 'user', content }], { maxTokens: 300, temperature: 0, signal });
  for await (const { text } of run) words.textContent += text;
  if (!words.textContent) words.textContent = '(nothing)';
  status.textContent = `done in ${((performance.now() - begun) / 1000).toFixed(1)} s`;
}

async function hear(sound) {
  controller = new AbortController();
  const { signal } = controller;
  error.textContent = '';
  const { item, player, words: place } = entryOf(sound);
  busy(true);
  try {
    await withModel((model) => {
      begin = 'Record';
      show(false);
      return write(model, sound, place, signal);
    });
  } catch (failure) {
    status.textContent = signal.aborted ? 'stopped' : '';
    place.textContent ||= '(nothing)';
    const isNoSound = failure.code === 'invalid_argument' && failure.message.startsWith('audio: the file');
    if (isNoSound) {
      // There is nothing to play either.
      URL.revokeObjectURL(player.src);
      item.remove();
      error.textContent = `${sound.name ?? 'The recording'} is no sound that this browser can read.`;
    } else if (!signal.aborted) error.textContent = failure.message;
  }
  busy(false);
}

function busy(is) {
  const hadFocus = document.activeElement === stop;
  [recording.disabled, open.disabled, stop.hidden] = [is, is, !is];
  if (hadFocus) recording.focus(); // a hidden button would lose it
}

function show(isRecording) {
  recording.setAttribute('aria-pressed', String(isRecording));
  recording.textContent = isRecording ? 'Done' : begin;
  [open.disabled, level.hidden] = [isRecording, !isRecording];
}

recording.addEventListener('click', async () => {
  if (microphone) return microphone.stop();
  error.textContent = '';
  try {
    microphone = await record(level, LONGEST);
    show(true);
    status.textContent = `recording, up to ${LONGEST} seconds`;
    const sound = await microphone.sound;
    microphone = undefined;
    show(false);
    await hear(sound);
  } catch (failure) {
    microphone = undefined;
    show(false);
    [status.textContent, error.textContent] = ['', failure.message];
  }
});
open.addEventListener('click', () => file.click());
stop.addEventListener('click', () => controller.abort());
file.addEventListener('change', () => {
  const [chosen] = file.files;
  if (chosen) hear(chosen);
  file.value = '';
});
