// What the types must refuse. tsc fails on an `@ts-expect-error` with no error below it, so a type that has become
// `any` shows up here.

import { Gpu, Model, Tokenizer, WasmModel } from 'webgguf';
import type { Gpu as ComputeGpu } from 'webgguf/compute';
import type { CreateMonitor } from 'webgguf/prompt-api';
import { useChat, useModel } from 'webgguf/react';
import { AdamW, type Gpu as TrainingGpu, Sgd } from 'webgguf/training';

export function misuseOfMonitors(monitor: CreateMonitor): void {
  monitor.addEventListener('downloadprogress', ({ loaded }) => console.log(loaded.toFixed(2)));
  // @ts-expect-error progress events have loaded, not fraction
  monitor.addEventListener('downloadprogress', ({ fraction }) => console.log(fraction));
}

export async function reasonOf(): Promise<string> {
  const found = await WasmModel.inspect('m.gguf');
  // @ts-expect-error only what is not supported has a reason
  console.log(found.reason.message);
  return found.supported ? '' : found.reason.message;
}

export async function modelIsWasmModel(): Promise<WasmModel> {
  const model: Model = await Model.load('m.gguf');
  // @ts-expect-error by either name it has no such method
  model.write();
  return model;
}

export async function misuse(model: WasmModel): Promise<void> {
  // @ts-expect-error a number is no source
  await WasmModel.load(42);
  // @ts-expect-error no such backend
  await WasmModel.load('m.gguf', { backend: 'webgl' });
  // @ts-expect-error the constructor is private: use load
  new WasmModel();
  // @ts-expect-error tokens are counted in numbers
  model.generate('x', { maxTokens: '3' });
  // @ts-expect-error a message needs a role
  model.generate([{ content: 'x' }]);
  // @ts-expect-error sessions take a text or messages
  model.session().send(3);
  // @ts-expect-error pieces have text, not token
  for await (const piece of model.generate('x')) console.log(piece.token);
  // @ts-expect-error info cannot be written to
  model.info.layers = 3;
  // @ts-expect-error only text among the parts of a message
  model.generate([{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }]);
  // @ts-expect-error one message is no conversation
  model.generate({ role: 'user', content: 'x' });
  // @ts-expect-error a generation has to be awaited for its text
  console.log(model.generate('x').text);
  // @ts-expect-error the result is a promise
  console.log(model.generate('x').result.text);
  // @ts-expect-error ids come as a promise
  console.log(model.tokenize('x').length);
  // @ts-expect-error a tokenizer does not generate
  (await Tokenizer.load('m.gguf')).generate('x');
}

export async function misuseTensors(gpu: Gpu): Promise<void> {
  const x = gpu.tensor([1, 2], [2]);
  // @ts-expect-error no such type
  gpu.tensor([1, 2], [2], 'f64');
  // @ts-expect-error the option is called softCap
  gpu.softmax(x, { cap: 3 });
  // @ts-expect-error numbers are no tensors
  gpu.matmul(x, [1, 2]);
  // @ts-expect-error data is a promise
  console.log(x.data()[0]);
  // @ts-expect-error of integers come integers
  const floats: Float32Array = await gpu.argmax(x).data();
  // @ts-expect-error blocks are no numbers
  (await gpu.tensor(new Uint8Array(34), [32], 'q8_0').data()).length;
  // @ts-expect-error a shape cannot be written to
  x.shape[0] = floats.length;
  // @ts-expect-error use create
  new Gpu();
}

export function useWrongly(model: WasmModel): void {
  // @ts-expect-error progress is in what the hook gives
  useModel('m.gguf', { onProgress: console.log });
  // @ts-expect-error a tool needs execute
  useChat(model, { tools: [{ name: 'roll' }] });
  // @ts-expect-error messages cannot be written to
  useChat(model).messages.push({ role: 'user', content: 'x' });
}

export async function misuseSignals(gpu: ComputeGpu): Promise<void> {
  const x = gpu.zeros([1, 3, 8, 8]);
  // @ts-expect-error the option is called stride
  gpu.conv2d(x, x, { strides: 2 });
  // @ts-expect-error no such activation
  gpu.conv2d(x, x, { activation: 'tanh' });
  // @ts-expect-error a window has a length
  gpu.maxPool2d(x, {});
  // @ts-expect-error maxima count no padding
  gpu.maxPool2d(x, { kernel: 2, countIncludePad: true });
  // @ts-expect-error pairs, one for each axis
  gpu.pad(x, [1, 1]);
  // @ts-expect-error no such way
  gpu.upsample(x, { scale: 2, mode: 'cubic' });
  // @ts-expect-error a window is a tensor
  gpu.stft(x, { window: 'hann', hop: 2 });
  // @ts-expect-error k is needed
  gpu.knn(x, { metric: 'cosine' });
  // @ts-expect-error peaks are a promise
  console.log(gpu.findPeaks(x)[0]);
  // @ts-expect-error of indices come integers
  const floats: Float32Array = await gpu.knn(x, { k: 2 }).indices.data();
  // @ts-expect-error a recording's spectrum is an object with power
  await gpu.welch(x).data(floats);
  // @ts-expect-error gradients are in webgguf/training
  gpu.grad(() => x, x);
}

export async function misuseTraining(gpu: TrainingGpu, plain: Gpu): Promise<void> {
  const w = gpu.zeros([2]);
  // @ts-expect-error a function of tensors gives a tensor
  gpu.grad(() => 3, w);
  // @ts-expect-error a number is nothing to differentiate by
  gpu.grad(() => w, { w, rate: 3 });
  // @ts-expect-error gradients have the form of the inputs
  console.log(gpu.grad(() => w, { w }).b);
  // @ts-expect-error a step has a length
  new Sgd(gpu, w);
  // @ts-expect-error there are two betas
  new AdamW(gpu, w, { betas: [0.9] });
  // @ts-expect-error it takes the Gpu of webgguf/training
  new AdamW(plain, w);
  // @ts-expect-error classes are integers
  gpu.crossEntropy(w, w);
  // @ts-expect-error there may be no gradient yet
  await gpu.variable(w).grad.data();
}
