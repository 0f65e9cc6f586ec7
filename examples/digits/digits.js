// A network that learns to read digits, on this GPU.
import { AdamW, Gpu } from 'webgguf/training';
import { batch, drawCurve, picture, SIDE } from './paint.js';

const [STEPS, BATCH, HIDDEN] = [200, 64, 64];
const byId = (id) => document.getElementById(id);
const [train, stop, status, error] = ['train', 'stop', 'status', 'error'].map(byId);
let stopped = false;

/** Random weights [n, k] of a layer and its bias. */
function layer(gpu, n, k) {
  const range = Math.sqrt(6 / (n + k));
  const weights = Float32Array.from({ length: n * k }, () => (2 * Math.random() - 1) * range);
  return { weight: gpu.tensor(weights, [n, k]), bias: gpu.zeros([n]) };
}

/** What the network says for images: a score for each digit. */
function scores(gpu, { first, second }, images) {
  const { weight, bias } = first;
  const hidden = gpu.matmul(images, weight, { transposeB: true, bias, activation: 'relu' });
  return gpu.matmul(hidden, second.weight, { transposeB: true, bias: second.bias });
}

/** One step on new digits; the loss before it. */
function step(gpu, network, optimizer) {
  const { pixels, labels } = batch(BATCH);
  return gpu.scope(() => {
    const [images, targets] = [gpu.tensor(pixels, [BATCH, SIDE * SIDE]), gpu.tensor(labels)];
    const loss = () => gpu.crossEntropy(scores(gpu, network, images), targets);
    const { value, gradients } = gpu.valueAndGrad(loss, network);
    gpu.clipGradNorm(gradients, 1);
    optimizer.step(gradients);
    return value;
  });
}

/** Shows some new digits with what the network reads; the share of 500 that it reads right. */
async function examine(gpu, network) {
  const { pixels, labels } = batch(500);
  const images = gpu.tensor(pixels, [500, SIDE * SIDE]);
  const best = gpu.scope(() => gpu.argmax(scores(gpu, network, images), { axis: 1 }));
  const read = await best.data();
  gpu.free(images, best);
  const items = [...labels.slice(0, 20)].map((digit, i) => {
    const item = document.createElement('li');
    item.className = read[i] === digit ? 'right' : 'wrong';
    item.append(picture(pixels.slice(i * SIDE * SIDE, (i + 1) * SIDE * SIDE)), String(read[i]));
    return item;
  });
  byId('digits').replaceChildren(...items);
  return labels.filter((digit, i) => digit === read[i]).length / labels.length;
}

async function learn(gpu) {
  const network = { first: layer(gpu, HIDDEN, SIDE * SIDE), second: layer(gpu, 10, HIDDEN) };
  const optimizer = new AdamW(gpu, network, { learningRate: 0.01 });
  const losses = [];
  // The losses of ten steps are read at once, so that the GPU does not wait.
  while (losses.length < STEPS && !stopped) {
    const values = Array.from({ length: 10 }, () => step(gpu, network, optimizer));
    losses.push(...(await Promise.all(values.map((value) => value.item()))));
    gpu.free(values);
    drawCurve(byId('curve'), losses, STEPS);
    status.textContent = `step ${losses.length}, loss ${losses.at(-1).toFixed(3)}`;
  }
  const share = await examine(gpu, network);
  status.textContent = `${losses.length} steps, loss ${losses.at(-1).toFixed(3)}, reads ${Math.round(100 * share)} %`;
}

train.addEventListener('click', async () => {
  stopped = false;
  error.textContent = '';
  [train.disabled, stop.hidden] = [true, false];
  let gpu;
  try {
    gpu = await Gpu.create();
    await learn(gpu);
  } catch ({ message }) {
    error.textContent = message;
  } finally {
    gpu?.destroy();
    [train.disabled, stop.hidden] = [false, true];
  }
});
stop.addEventListener('click', () => {
  stopped = true;
});
