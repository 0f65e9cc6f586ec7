// A conversation by voice: models in the page listen, answer and speak.
import { WasmModel } from 'webgguf';
import { createConversation, createPlayer } from 'webgguf/voice';
import { downloading, modelsFor } from '../load.js';

// Others by their addresses: ?model=…, ?ears=…&mmproj=…, and a model that speaks, ?voice=…&vocoder=…; or one model that
// hears, writes and speaks, such as LFM3-Audio: ?omni=…&mmproj=…
const address = new URLSearchParams(location.search);
const USUAL = {
  source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0',
  words: 'Qwen3 0.6B and Qwen3-ASR 0.6B, 1.6 GB',
};
const [{ source: MODEL, words }] = modelsFor(USUAL, { isSmallEnough: false });
const EARS = address.get('ears') ?? 'ggml-org/Qwen3-ASR-0.6B-GGUF:Q8_0';
const VOICE = address.get('voice');
const OMNI = address.get('omni');
const SYSTEM = 'You are spoken to, and what you write is read aloud. Answer in one or two short sentences.';
const STATES = {
  listening: 'listening: say something',
  hearing: 'listening …',
  thinking: 'thinking …',
  speaking: 'speaking',
  over: '',
};

const [button, interrupt, level, status, times, error, caption, turns, who] = [
  ...['talk', 'interrupt', 'level', 'status', 'times', 'error', 'caption', 'turns', 'who'],
].map((id) => document.getElementById(id));

let models;
let conversation;
let controller;
if (OMNI) who.textContent = 'One model hears, writes and speaks; what you say is not written down.';
else who.textContent = VOICE ? 'A model on this device speaks.' : "The browser's own voice speaks.";
const label = OMNI ? 'Talk' : downloading('Talk', words);
button.textContent = label;

/** Loads what listens, answers and, if one was named, speaks. */
async function load(signal) {
  const onProgress = ({ stage, fraction = 0 }) => {
    status.textContent = `${stage} ${Math.round(fraction * 100)} %`;
  };
  const options = { worker: true, onProgress, signal };
  if (OMNI) {
    const file = address.get('mmproj') ?? true;
    return { omni: await WasmModel.load(OMNI, { ...options, mmproj: file, vocoder: file }) };
  }
  const ears = await WasmModel.load(EARS, { ...options, mmproj: address.get('mmproj') ?? true });
  const model = await WasmModel.load(MODEL, options);
  const vocoder = address.get('vocoder') ?? true;
  return { ears, model, mouth: VOICE && (await WasmModel.load(VOICE, { ...options, vocoder })) };
}

/** The model's answer without thoughts, which nobody wants to hear. */
async function* answer(messages, { signal }) {
  const stream = await models.model.chat.completions.create(
    { messages, stream: true, max_completion_tokens: 200, reasoning_effort: 'none' },
    { signal },
  );
  for await (const { choices } of stream) yield choices[0]?.delta.content ?? '';
}

function addTurn(role, text, wasInterrupted) {
  const [item, name] = ['li', 'b'].map((tag) => document.createElement(tag));
  name.textContent = role === 'user' ? 'You: ' : 'Model: ';
  item.className = role;
  item.append(name, text, wasInterrupted ? ' …' : '');
  turns.append(item);
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

const shows = {
  state: ({ state }) => {
    status.textContent = STATES[state];
    document.documentElement.dataset.state = state;
    show();
  },
  hearing: ({ text }) => (caption.textContent = text),
  user: ({ text }) => {
    caption.textContent = '';
    addTurn('user', text || '(you spoke)');
  },
  saying: ({ text }) => (caption.textContent = text),
  times: ({ times: { words, token, sound } }) => {
    const parts = [`first token ${seconds(token)}`, `first sound ${seconds(sound)}`];
    if (!OMNI) parts.unshift(`words ${seconds(words)}`);
    times.textContent = `After you spoke: ${parts.join(', ')}.`;
  },
  assistant: ({ text, interrupted }) => {
    if (text) addTurn('assistant', text, interrupted);
    caption.textContent = '';
  },
};

/** What the buttons say. */
function show() {
  const isOn = controller !== undefined;
  const isAnswering = ['thinking', 'speaking'].includes(conversation?.state);
  if (!isAnswering && document.activeElement === interrupt) button.focus(); // a hidden button would lose it
  button.setAttribute('aria-pressed', String(isOn));
  button.textContent = isOn ? 'End' : models ? 'Talk' : label;
  level.hidden = !isOn;
  interrupt.hidden = !isAnswering;
}

async function talk() {
  controller = new AbortController();
  const { signal } = controller;
  error.textContent = '';
  show();
  // In the click: browsers let sound begin with a gesture.
  const player = VOICE || OMNI ? await createPlayer() : undefined;
  try {
    models ??= await load(signal);
    const { ears, mouth, omni } = models;
    const takePart = omni
      ? { model: omni, player }
      : { ears, model: answer, voice: mouth ? { model: mouth, player } : undefined };
    conversation = await createConversation({
      ...{ ...takePart, system: SYSTEM, language: 'en', signal },
      onEvent: (event) => shows[event.type]?.(event),
      onLevel: (value) => (level.value = Math.min(1, 4 * value)),
    });
    status.textContent = STATES.listening;
    await conversation.done;
  } catch (failure) {
    if (!signal.aborted) error.textContent = failure.message;
  } finally {
    await player?.close();
    [conversation, controller] = [undefined, undefined];
    [status.textContent, caption.textContent, times.textContent] = ['', '', ''];
    show();
  }
}

button.addEventListener('click', () => (controller ? controller.abort() : talk()));
interrupt.addEventListener('click', () => conversation?.interrupt());
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') conversation?.interrupt();
});
