// What the device page says: from what the browser tells to words. Needs no browser.

import { bytes } from '../demo/words.js';

/** Limits that decide which models and kernels run, and WebGPU's default of each, which every device has. */
const LIMITS = [
  ['maxBufferSize', 256 * 2 ** 20, bytes],
  ['maxStorageBufferBindingSize', 128 * 2 ** 20, bytes],
  ['maxStorageBuffersPerShaderStage', 8, String],
  ['maxComputeWorkgroupStorageSize', 16_384, bytes],
  ['maxComputeInvocationsPerWorkgroup', 256, String],
  ['maxComputeWorkgroupsPerDimension', 65_535, String],
];
/** Features that webgguf has faster kernels for. */
const FEATURES = ['shader-f16', 'subgroups', 'timestamp-query'];

/** `[[name, what this device has, WebGPU's default]]` of the limits that matter, as texts. */
export const limitRows = (limits) => LIMITS.map(([name, least, show]) => [name, show(limits[name]), show(least)]);

/** The features that matter and whether they are there. */
export const featureRows = (features) => FEATURES.map((name) => ({ name, has: features.has(name) }));

/** The adapter's name as far as the browser tells it. */
export function nameOf({ vendor, architecture, device, description } = {}) {
  return description || [vendor, architecture, device].filter(Boolean).join(' ') || 'an adapter without a name';
}

const NO_GPU = 'A small model runs on the CPU, much slower than on a GPU.';

/**
 * Whether webgguf runs: `level` is `good`, `fair` or `bad`.
 * @param {{wasm: boolean, secure: boolean, webgpu: boolean, adapter: boolean, software: boolean}} found
 * @returns {{level: string, words: string, advice: string}}
 */
export function answerOf({ wasm, secure, webgpu, adapter, software }) {
  if (!wasm) {
    const advice = 'It may be switched off, as lockdown modes do, or forbidden by an extension.';
    return { level: 'bad', words: 'No: this browser runs no WebAssembly.', advice };
  }
  const onCpu = (advice) => ({ level: 'fair', words: 'Yes, but on the CPU alone.', advice: `${NO_GPU} ${advice}` });
  if (!secure)
    return onCpu('This page is not secure (http:), and browsers offer WebGPU on https: and localhost alone.');
  if (!webgpu) return onCpu('This browser has no WebGPU: a current Chrome, Edge, Safari or Firefox may have it.');
  if (!adapter)
    return onCpu(
      'The browser has WebGPU, but offers no GPU to pages. chrome://gpu says why, in Firefox about:support.',
    );
  if (software) return onCpu('The only adapter is a program that computes on the CPU, which webgguf does not choose.');
  return { level: 'good', words: 'Yes, on the GPU.', advice: 'Check below that its kernels compute what they should.' };
}

/** Words for the verdict of a model's self-check. */
export const CHECKED = {
  passed: 'The kernels compute what they should.',
  remembered: 'The kernels compute what they should: checked at an earlier load.',
  partial: 'The kernels that were checked compute what they should; time was up before the others.',
  replaced: 'Some kernels compute wrong values on this GPU. Plainer ones, which do not, run in their place.',
  failed: 'Some kernels compute wrong values on this GPU, and there are no others. Please report that.',
  skipped: 'There are no kernels to check: the model ran on the CPU.',
};

/**
 * The page as Markdown, for an issue.
 * @param {{agent: string, answer: object, adapter: string, features: string[], limits: string[][],
 *   model?: {backend: string, verdict: string, wrong: string[], rate: string, variants: string[]}}} facts
 */
export function markdown({ agent, answer, adapter, features, limits, model }) {
  const lines = [`**${answer.words}** ${answer.advice}`, '', `- browser: ${agent}`, `- adapter: ${adapter}`];
  lines.push(`- features: ${features.join(', ') || 'none that matters'}`);
  if (model) {
    lines.push(`- storyteller: on the ${model.backend}, ${model.rate}; ${CHECKED[model.verdict]}`);
    if (model.wrong.length > 0) lines.push(`- wrong: ${model.wrong.join(', ')}`);
    lines.push(`- kernels: ${model.variants.join(', ') || 'none'}`);
  }
  if (limits.length > 0) {
    lines.push('', '| limit | here | default |', '| --- | --- | --- |');
    lines.push(...limits.map((row) => `| ${row.join(' | ')} |`));
  }
  return `${lines.join('\n')}\n`;
}
