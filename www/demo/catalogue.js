// A short catalogue of models that are good at their size, and whether this device has room for one.

import { findAdapter } from '../../dist/engine/adapter.js';
import { cache } from '../../dist/index.js';

/** Tokens of context that room is planned for: what `load` plans for by default. */
const CONTEXT = 4096;
/** What a model takes beside its weights and its cache: buffers of a pass, the shaders, the page. */
const REST = 2e8;
/** Browsers do not tell more memory than this. */
const MOST_TOLD = 8;

/**
 * `bytes` of the file, and `encoderBytes` of that of `mmproj`, its encoder of images, or of sounds where it `hears`;
 * `kvBytes` of the KV cache per token in f16: 4 · layers with attention · KV heads · head size.
 * @type {{name: string, source: string, mmproj?: string, hears?: boolean, bytes: number, encoderBytes?: number,
 *   kvBytes: number, licence: string, licenceUrl: string, about: string}[]}
 */
export const CATALOGUE = [
  {
    name: 'SmolLM2 135M',
    source: 'hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q8_0.gguf',
    bytes: 1.45e8,
    kvBytes: 4 * 30 * 3 * 64,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Tiny and quick; also for phones and for the CPU',
  },
  {
    name: 'SmolLM2 360M',
    source: 'hf:HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/smollm2-360m-instruct-q8_0.gguf',
    bytes: 3.86e8,
    kvBytes: 4 * 32 * 5 * 64,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Small talk and rewriting, in English',
  },
  {
    name: 'Qwen3 0.6B',
    source: 'hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf',
    bytes: 6.39e8,
    kvBytes: 4 * 28 * 8 * 128,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Many languages; can think before it answers',
  },
  {
    name: 'Qwen3.5 0.8B',
    source: 'hf:unsloth/Qwen3.5-0.8B-GGUF/Qwen3.5-0.8B-Q4_K_M.gguf',
    mmproj: 'hf:unsloth/Qwen3.5-0.8B-GGUF/mmproj-F16.gguf',
    bytes: 532_517_120,
    encoderBytes: 204_987_232,
    kvBytes: 4 * 6 * 2 * 256,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Chats in many languages, and reads pictures, for its size',
  },
  {
    name: 'Llama 3.2 1B',
    source: 'hf:bartowski/Llama-3.2-1B-Instruct-GGUF/Llama-3.2-1B-Instruct-Q4_K_M.gguf',
    bytes: 8.08e8,
    kvBytes: 4 * 16 * 8 * 64,
    licence: 'Llama 3.2',
    licenceUrl: 'https://www.llama.com/llama3_2/license/',
    about: 'Good all-round chat for its size',
  },
  {
    name: 'Gemma 3 1B',
    source: 'hf:ggml-org/gemma-3-1b-it-GGUF/gemma-3-1b-it-Q4_K_M.gguf',
    bytes: 8.06e8,
    kvBytes: 4 * 26 * 1 * 256,
    licence: 'Gemma',
    licenceUrl: 'https://ai.google.dev/gemma/terms',
    about: 'Writes well; summaries and questions',
  },
  {
    name: 'Qwen2.5 1.5B',
    source: 'hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf',
    bytes: 1.117e9,
    kvBytes: 4 * 28 * 2 * 128,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'JSON, code and instructions',
  },
  {
    name: 'LFM2.5-VL 450M',
    source: 'hf:LiquidAI/LFM2.5-VL-450M-GGUF/LFM2.5-VL-450M-Q4_0.gguf',
    mmproj: 'hf:LiquidAI/LFM2.5-VL-450M-GGUF/mmproj-LFM2.5-VL-450m-Q8_0.gguf',
    bytes: 219_311_264,
    encoderBytes: 102_815_168,
    kvBytes: 4 * 6 * 8 * 64,
    licence: 'LFM 1.0',
    licenceUrl: 'https://huggingface.co/LiquidAI/LFM2.5-VL-450M/blob/main/LICENSE',
    about: 'Says quickly what a picture shows',
  },
  {
    name: 'SmolVLM2 500M',
    source: 'hf:ggml-org/SmolVLM2-500M-Video-Instruct-GGUF/SmolVLM2-500M-Video-Instruct-Q8_0.gguf',
    mmproj: 'hf:ggml-org/SmolVLM2-500M-Video-Instruct-GGUF/mmproj-SmolVLM2-500M-Video-Instruct-Q8_0.gguf',
    bytes: 436_808_704,
    encoderBytes: 108_785_184,
    kvBytes: 4 * 32 * 5 * 64,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Describes pictures, in English',
  },
  {
    name: 'Qwen3-VL 2B',
    source: 'hf:Qwen/Qwen3-VL-2B-Instruct-GGUF/Qwen3VL-2B-Instruct-Q4_K_M.gguf',
    mmproj: 'hf:Qwen/Qwen3-VL-2B-Instruct-GGUF/mmproj-Qwen3VL-2B-Instruct-Q8_0.gguf',
    bytes: 1_107_409_952,
    encoderBytes: 445_053_216,
    kvBytes: 4 * 28 * 8 * 128,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Reads text in pictures; many languages',
  },
  {
    name: 'Qwen3.5 2B',
    source: 'hf:unsloth/Qwen3.5-2B-GGUF/Qwen3.5-2B-Q4_K_M.gguf',
    mmproj: 'hf:unsloth/Qwen3.5-2B-GGUF/mmproj-F16.gguf',
    bytes: 1_280_835_840,
    encoderBytes: 668_227_264,
    kvBytes: 4 * 6 * 2 * 256,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Long texts and pictures; its cache stays small',
  },
  {
    name: 'Ultravox 1B',
    source: 'hf:ggml-org/ultravox-v0_5-llama-3_2-1b-GGUF/Llama-3.2-1B-Instruct-Q4_K_M.gguf',
    mmproj: 'hf:ggml-org/ultravox-v0_5-llama-3_2-1b-GGUF/mmproj-ultravox-v0_5-llama-3_2-1b-f16.gguf',
    hears: true,
    bytes: 807_694_464,
    encoderBytes: 1_371_123_616,
    kvBytes: 4 * 16 * 8 * 64,
    licence: 'MIT, Llama 3.2',
    licenceUrl: 'https://huggingface.co/fixie-ai/ultravox-v0_5-llama-3_2-1b',
    about: 'Hears what you say, and answers',
  },
  {
    name: 'Gemma 4 E2B',
    source: 'hf:ggml-org/gemma-4-E2B-it-GGUF/gemma-4-E2B-it-Q4_0.gguf',
    mmproj: 'hf:ggml-org/gemma-4-E2B-it-GGUF/mmproj-gemma-4-E2B-it-Q8_0.gguf',
    bytes: 2_841_481_184,
    encoderBytes: 557_367_776,
    // Twelve layers with windows and three without have a cache of their own.
    kvBytes: 4 * (12 * 256 + 3 * 512),
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'Writes well about texts and pictures; for desktops',
  },
  {
    name: 'Qwen3 4B',
    source: 'hf:Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf',
    bytes: 2.5e9,
    kvBytes: 4 * 36 * 8 * 128,
    licence: 'Apache-2.0',
    licenceUrl: 'https://www.apache.org/licenses/LICENSE-2.0',
    about: 'The cleverest here; wants a good GPU',
  },
];

/** Bytes that an entry downloads. */
export const sizeOf = (entry) => entry && entry.bytes + (entry.encoderBytes ?? 0);

/**
 * What the browser tells of this device: whether there is a GPU that is no software, gigabytes of memory (undefined
 * where it does not say), bytes of disk that are left to this page.
 */
export async function deviceFacts() {
  const adapter = await findAdapter();
  const { usage, quota } = await cache.estimate();
  return {
    gpu: Boolean(adapter) && !adapter.info?.isFallbackAdapter,
    memory: navigator.deviceMemory,
    room: quota - usage,
  };
}

/**
 * Whether a device has room for a model, by numbers alone; `WasmModel.inspect` tries it.
 * @returns {{level: 'fits' | 'tight' | 'large', words: string}}
 */
export function verdict({ kvBytes, ...files }, { gpu, memory, room }) {
  const bytes = sizeOf(files);
  const needed = (bytes + kvBytes * CONTEXT + REST) / 1e9;
  if (memory !== undefined && memory < MOST_TOLD && needed > 0.8 * memory) return large('Too large for this device');
  if (!gpu && needed > 3.5) return large('Too large without a GPU');
  if (!gpu && needed > 0.8) return tight('Slow here: no GPU');
  if (needed > 0.4 * (memory ?? 4)) return tight('May be tight here');
  if (room < bytes) return tight('Fits, but there is no room to keep it');
  return { level: 'fits', words: gpu ? 'Fits this device' : 'Fits this device, on its CPU' };
}

const large = (words) => ({ level: 'large', words });
const tight = (words) => ({ level: 'tight', words });
