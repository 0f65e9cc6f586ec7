// webgguf in use, as a program that `tsc --strict` checks. Every part of the public API appears once.

import { Gpu, Tokenizer, WasmModel, WebggufError } from 'webgguf';
import { useChat, useModel, type ChatMessage, type ChatTool } from 'webgguf/react';
import type { FloatTensor, GenerationResult, LoadOptions, Message, Progress, Tensor, TextPart } from 'webgguf';

/** Loads a model, lets it write into an element, and says how fast that was. */
export async function tellStory(url: string, output: HTMLElement, signal: AbortSignal): Promise<GenerationResult> {
  const options: LoadOptions = { onProgress: showProgress, signal, contextLength: 4096, backend: 'auto' };
  const model = await WasmModel.load(url, options);
  try {
    const generation = model.generate('Once upon a time', { maxTokens: 200, temperature: 0.7, topP: 0.9, seed: 7 });
    for await (const piece of generation) output.textContent += piece.text;
    return await generation.result;
  } finally {
    await model.free();
  }
}

function showProgress({ stage, loaded, total, fraction }: Progress): void {
  const share = fraction === undefined ? '' : ` (${Math.round(fraction * 100)} %)`;
  console.log(`${stage}: ${loaded} of ${total ?? 'unknown'}${share}`);
}

/** A conversation; the second answer re-uses what the model has read for the first. */
export async function chat(file: File, questions: readonly string[]): Promise<readonly Message[]> {
  const model = await WasmModel.load(file);
  const messages: Message[] = [{ role: 'system', content: 'You answer briefly.' }];
  for (const question of questions) {
    messages.push({ role: 'user', content: question });
    const generation = model.generate(messages, { stop: ['\n\n'], maxTokens: 100 });
    let answer = '';
    for await (const { text } of generation) answer += text;
    messages.push({ role: 'assistant', content: answer });
    const { usage, timings, finishReason } = await generation.result;
    console.log(finishReason, usage.cachedTokens, timings.tokensPerSecond.toFixed(1));
  }
  await model.free();
  return messages;
}

/** Two ways to go on from one conversation: a fork does not read again what its origin has read. */
export async function twoAnswers(model: WasmModel): Promise<readonly Message[]> {
  await using session = model.session({ system: 'You answer briefly.', overflow: 'truncate' });
  await session.send('What is a hedgehog?', { maxTokens: 100 });
  await using other = await session.fork();
  const [food, place] = [session.send('What does it eat?'), other.send('Where does it sleep?')];
  console.log((await food).text, (await place).text, session.tokens, await session.countTokens());
  return session.messages;
}

/** An answer all at once: a generation can be awaited. Content may come in parts; `stop` ends a generation early. */
export async function answer(model: WasmModel, parts: readonly TextPart[]): Promise<string> {
  await model.stop(); // whatever it was writing
  const generation = model.generate([{ role: 'user', content: parts }], { maxTokens: 500 });
  const timer = setTimeout(() => void generation.stop(), 10_000);
  const { text, finishReason } = await generation;
  clearTimeout(timer);
  return finishReason === 'abort' ? `${text}…` : text;
}

/** How likely a text is: the mean log-probability of its tokens. */
export async function score(model: WasmModel, text: string): Promise<number> {
  const ids = await model.tokenize(text, { addSpecial: true });
  const { logprobs } = await model.evaluate(ids);
  return logprobs.reduce((sum, value) => sum + value, 0) / logprobs.length;
}

/** Counts tokens with nothing but the vocabulary of a model. */
export async function countTokens(url: URL, text: string): Promise<number> {
  using tokenizer = await Tokenizer.load(url);
  const ids = tokenizer.tokenize(text);
  console.log(tokenizer.detokenize(ids) === text);
  return ids.length;
}

/** A layer of a network of one's own, on the GPU: nothing is waited for here. */
export function layer(gpu: Gpu, x: Tensor, { norm, weights }: Record<'norm' | 'weights', Tensor<'f32'>>): FloatTensor {
  return gpu.scope(() => {
    const hidden = gpu.matmul(gpu.rmsNorm(x, norm, { eps: 1e-6 }), weights, { transposeB: true, activation: 'silu' });
    return gpu.fuse([hidden, x], (h, x) => h.mul(0.5).add(x).max(0));
  });
}

/** The most likely of some numbers, and its share. */
export async function best(numbers: readonly number[]): Promise<[index: number, share: number]> {
  using gpu = await Gpu.create();
  const scores = gpu.tensor(numbers, [1, numbers.length]);
  const { values, indices } = gpu.topK(gpu.softmax(scores), 1);
  const index: Uint32Array = await indices.data();
  const share: Float32Array = await values.data();
  console.log(gpu.info.name, scores.shape, scores.dtype, await gpu.sum(scores).item());
  gpu.free(scores, { values, indices });
  return [index[0] ?? 0, share[0] ?? 0];
}

/** A text as one vector: the mean of its tokens' hidden states, which stay on the GPU until then. */
export async function vectorOf(url: string, text: string): Promise<Float32Array> {
  using gpu = await Gpu.create();
  await using model = await WasmModel.load(url, { gpu });
  const states: Tensor<'f32'> = await model.hiddenStates(await model.tokenize(text), gpu);
  return gpu.mean(states, { axis: 0 }).data();
}

/** What can go wrong is a closed set, so that a page can act on it. */
export async function loadOrExplain(url: string): Promise<WasmModel | string> {
  try {
    const model = await WasmModel.load(url, { backend: 'webgpu' });
    const { architecture, quantization, layers, contextLength, adapter, features, gpuBytes } = model.info;
    console.log(architecture, quantization, layers, contextLength, adapter, features.join(), gpuBytes, model.hasGpu());
    return model;
  } catch (error) {
    if (!(error instanceof WebggufError)) throw error;
    switch (error.code) {
      case 'webgpu_unavailable':
        return 'This browser has no WebGPU.';
      case 'download_failed':
        return `The model could not be fetched: ${error.message}`;
      default:
        return error.message;
    }
  }
}

/** The state of a component: a conversation with a tool, or why there is none. */
export function useDice(url: string | null): readonly ChatMessage[] | string {
  const roll = ({ sides }: { sides: number }): number => 1 + Math.floor(Math.random() * sides);
  const rollDice: ChatTool = { name: 'roll', inputSchema: { type: 'object' }, execute: roll };
  const { model, status, progress, error } = useModel(url, { worker: true, contextLength: 2048 });
  const { messages } = useChat(model, { system: 'You are a dealer.', tools: [rollDice], temperature: 0.7 });
  if (status === 'ready') return messages;
  return error?.message ?? `${progress?.stage ?? 'waiting'}`;
}
