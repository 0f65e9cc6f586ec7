// What the demo says: errors in plain words with what to do, numbers as people read them.

import { oneLine } from './one-line.js';

/** Title and advice by error code; `offer` names buttons that demo.js knows. */
const ERRORS = {
  webgpu_unavailable: {
    title: 'WebGPU is not available in this browser',
    advice: 'Use a current Chrome, Edge, Safari or Firefox on a secure (https) page, or run the model on the CPU.',
    offer: ['cpu'],
  },
  feature_missing: {
    title: 'This page may not use WebAssembly',
    advice:
      "The page's content security policy has to allow 'wasm-unsafe-eval', and the browser must not have switched " +
      'WebAssembly off, as lockdown modes do.',
    offer: ['again'],
  },
  limit_exceeded: {
    title: 'The model is too large for this GPU',
    advice: 'Choose a smaller model or quantization, set a shorter context length, or run it on the CPU.',
    offer: ['cpu'],
  },
  out_of_memory: {
    title: 'Out of memory',
    advice: 'Close other tabs, set a shorter context length in the settings, or choose a smaller model.',
    offer: ['again'],
  },
  device_lost: {
    title: 'The connection to the GPU was lost',
    advice: 'The driver was reset, the computer was asleep, or memory ran out. Loading the model again usually helps.',
    offer: ['again', 'cpu'],
  },
  worker_lost: {
    title: 'The thread with the model was ended',
    advice: 'The browser ended it, as phones do where memory is short. Load the model again.',
    offer: ['again'],
  },
  engine_moved: {
    title: 'The tab with the model was closed',
    advice: 'Another tab has it now. Ask again; what was written so far stays.',
    offer: ['again'],
  },
  microphone_unavailable: {
    title: 'The microphone cannot be used',
    advice: 'Allow it in the settings of the browser for this page, and look whether another program has it.',
    offer: ['again'],
  },
  download_failed: {
    title: 'The model could not be downloaded',
    advice:
      'Check the address and your connection. A file on another site can only be read if that site allows it (CORS).',
    offer: ['again'],
  },
  integrity_failed: {
    title: 'The file does not have the expected content',
    advice: 'It was changed or damaged on the way. Download it again.',
    offer: ['again'],
  },
  bad_file: {
    title: 'This is not a usable GGUF file',
    advice: 'It may be incomplete, or another kind of file. Compare its size with the original, or download it again.',
  },
  unsupported_quant: {
    title: 'This quantization is not supported',
    advice: 'Choose another file of the same model: Q4_K_M, Q8_0 and F16 work.',
  },
  unsupported_architecture: {
    title: 'This kind of model is not supported',
    advice:
      'Most families work: Llama, Qwen, Gemma, Mistral, Phi, Granite, SmolLM, LFM2, OLMo, gpt-oss and others. ' +
      'Models that make images or speech do not.',
  },
  context_full: {
    title: 'This is too long for the model',
    advice:
      'Shorten the message, send fewer pictures or shorter sounds, start a new chat, or load the model with a longer ' +
      'context (in the settings).',
    offer: ['new'],
  },
  invalid_argument: {
    title: 'That did not work',
    advice: 'A setting or the address does not suit this model.',
  },
};

const UNKNOWN = {
  title: 'An error inside webgguf',
  advice: 'This is a bug. Reload the page; if it happens again, please report it with the line below.',
  offer: ['page'],
};

/** An error as the page shows it. */
export function explain(error) {
  const code = typeof error?.code === 'string' ? error.code : 'internal';
  const { title, advice, offer = [] } = ERRORS[code] ?? UNKNOWN;
  return { code, title, advice, offer, message: error?.message ?? String(error) };
}

/** 8123456 → "8.1 MB". */
export function bytes(count) {
  const units = ['bytes', 'kB', 'MB', 'GB'];
  const step = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), units.length - 1);
  const value = count / 1000 ** step;
  return `${value.toLocaleString('en', { maximumFractionDigits: step === 0 || value >= 100 ? 0 : 1 })} ${units[step]}`;
}

/** 7100000 → "7.1 M". */
export function amount(count) {
  if (count < 1e4) return count.toLocaleString('en');
  const [value, unit] = count >= 1e9 ? [count / 1e9, 'B'] : count >= 1e6 ? [count / 1e6, 'M'] : [count / 1e3, 'K'];
  return `${value.toLocaleString('en', { maximumFractionDigits: 1 })} ${unit}`;
}

/** A rate with as many digits as matter. */
export const rate = (value) => (value >= 100 ? Math.round(value).toString() : value.toFixed(1));

const STAGES = {
  download: ({ loaded, total }) => {
    if (loaded === 0) return 'reading the header';
    return total ? `${bytes(loaded)} of ${bytes(total)}` : bytes(loaded);
  },
  upload: () => 'moving the weights to the GPU',
  compile: () => 'compiling the shaders',
  ready: () => 'ready',
};

/** Where loading stands, in words. */
export const progressWords = (progress) => STAGES[progress.stage](progress);

/** How far the model is with a message before it answers: with its attachments, or with reading all of it. */
export function encodingWords({ stage, loaded, total, fraction }, attachments) {
  if (stage === 'prefill') return `reading ${loaded.toLocaleString('en')} of ${total.toLocaleString('en')} tokens`;
  const isHeard = attachments.length > 0 && attachments.every(({ kind }) => kind === 'sound');
  const [verb, what] = isHeard ? ['listening to', 'sound'] : ['looking at', 'picture'];
  if (total === 1) return `${verb} the ${what}: ${Math.round(100 * fraction)} %`;
  return `${verb} ${what} ${Math.min(total, Math.floor(loaded) + 1)} of ${total}`;
}

const ENDINGS = { stop: '', length: 'ended at the token limit', abort: 'stopped' };

/**
 * The line below an answer. `json`: it should be JSON; `forgotten`: how many of the oldest messages were not read any
 * more, because they do not fit the context; `missed`: pictures and sounds that the model did not get.
 */
export function resultWords({ text, finishReason, usage, timings }, { json, forgotten, missed = [] }) {
  const parts = [`${usage.completionTokens} tokens`];
  if (json) parts.unshift(isJson(text) ? 'valid JSON' : 'not complete JSON');
  if (timings.tokensPerSecond > 0) parts.push(`${rate(timings.tokensPerSecond)} tokens/s`);
  if (timings.timeToFirstTokenMs > 0) parts.push(`first token after ${Math.ceil(timings.timeToFirstTokenMs)} ms`);
  if (usage.cachedTokens > 0) parts.push(`${usage.cachedTokens} of ${usage.promptTokens} prompt tokens reused`);
  if (ENDINGS[finishReason]) parts.push(ENDINGS[finishReason]);
  if (forgotten > 0) parts.push(`the ${forgotten === 1 ? 'oldest message' : `${forgotten} oldest messages`} forgotten`);
  for (const [kind, verb] of [
    ['picture', 'seen'],
    ['sound', 'heard'],
  ]) {
    const count = missed.filter((one) => one.kind === kind).length;
    if (count > 0) parts.push(count === 1 ? `a ${kind} was not ${verb}` : `${count} ${kind}s were not ${verb}`);
  }
  return parts.join(' · ');
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const WARNINGS = {
  cache_full: 'There is no room in this browser to keep the model: it is downloaded again next time.',
  cache_unavailable: 'This browser keeps no models here: it is downloaded again next time.',
  device_lost: 'The connection to the GPU was lost. The model was loaded again and goes on.',
};

/** What went wrong without being an error. */
export const warningWords = ({ code, message }) => WARNINGS[code] ?? oneLine(message, 300);

const LONGEST_TITLE = 60;
/** How much of the beginning of a text a title is made from. */
const BEGINNING = 300;

/** The first words of a conversation as its title, without those that all stories begin with. */
export function titleOf(text) {
  const line =
    oneLine(
      text
        .slice(0, 10 * BEGINNING)
        .trim()
        .split('\n')[0]
        .slice(0, BEGINNING),
      BEGINNING,
    ) || 'A message';
  const words = line.replace(/^(please )?(tell|write) me an?( \w+)? story about /i, '').replace(/[.\s]+$/, '') || line;
  const cut = words.length > LONGEST_TITLE ? `${words.slice(0, LONGEST_TITLE).replace(/\s+\S*$/, '')}…` : words;
  const [first, ...rest] = cut; // by characters: the first may be two units
  return first.toUpperCase() + rest.join('');
}

/** When something was: "today", "yesterday", "12 Mar" or "12 Mar 2025". */
export function dayOf(time, now = Date.now()) {
  const day = new Date(time);
  const today = new Date(now);
  const daysAgo = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(time).setHours(0, 0, 0, 0)) / 864e5);
  if (daysAgo <= 0) return 'today';
  if (daysAgo === 1) return 'yesterday';
  const year = day.getFullYear() === today.getFullYear() ? undefined : 'numeric';
  return day.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year });
}

const SLOW = 'The model runs on the CPU, much slower than on a GPU';

/** Why a model runs on the CPU though nobody asked for that; empty where it does not. */
export function cpuReason({ backend }, asked) {
  if (backend !== 'cpu' || asked === 'cpu') return '';
  if (!globalThis.isSecureContext) {
    return `${SLOW}: this page is not secure (http:), and browsers offer WebGPU on https: pages and localhost alone.`;
  }
  if (!navigator.gpu) {
    return `${SLOW}: this browser has no WebGPU. A current Chrome, Edge, Safari or Firefox may have it.`;
  }
  return `${SLOW}: the browser offers no GPU to pages. chrome://gpu says why, in Firefox about:support.`;
}

/** Rows of the model card. */
export function factsOf(info) {
  const rows = [
    ['Runs on', info.backend === 'webgpu' ? 'GPU (WebGPU)' : 'CPU', 'backend'],
    ['Adapter', info.adapter],
    ['Architecture', info.architecture],
    ['Weights', `${amount(info.parameters)}, ${info.quantization}`],
    ['Layers', info.layers],
    ['Context', `${amount(info.contextLength)} tokens`],
    ['Vocabulary', `${amount(info.vocabularySize)} tokens`],
    ['Sees', info.media?.image ? 'pictures' : ''],
    ['Hears', info.media?.audio ? 'sounds' : ''],
    ['GPU memory', info.gpuBytes > 0 ? bytes(info.gpuBytes) : ''],
  ];
  return rows.filter(([, value]) => value !== '' && value !== undefined);
}
