// A network that learns to read digits, on this GPU.
import { AdamW, Gpu } from 'webgguf/training';
import { batch, drawCurve, picture, SIDE } from './paint.js';

const BATCH = 64;
// The test takes fewer.
const STEPS = Number(new URLSearchParams(location.search).get('steps') ?? 200);
const byId = (id) => document.getElementById(id);
const [train, stop, status, error] = ['train', 'stop', 'status', 'error'].map(byId);
let stopped = false;
let losses = [];
const draw = () => drawCurve(byId('curve'), losses, STEPS);

/** Random weights of a layer whose results have `fan` inputs each, and its bias (He et al. 2015, arXiv 1502.01852). */
function layer(gpu, shape, fan) {
  const size = shape.reduce((product, length) => product * length);
  const weights = Float32Array.from({ length: size }, () => (2 * Math.random() - 1) * Math.sqrt(6 / fan));
  return { weight: gpu.tensor(weights, shape), bias: gpu.zeros([shape[0]]) };
}

/** Two convolutions of 3 × 3, each with half the pixels behind it, and a layer for the ten digits. */
const networkOf = (gpu) => ({
  first: layer(gpu, [8, 1, 3, 3], 9),
  second: layer(gpu, [16, 8, 3, 3], 72),
  last: layer(gpu, [10, 144], 144),
});

/** What the network says of images: a score for each digit. */
function scores(gpu, { first, second, last }, images) {
  const half = (x, { weight, bias }) =>
    gpu.maxPool2d(gpu.conv2d(x, weight, { bias, padding: 1, activation: 'relu' }), { kernel: 2 });
  const shapes = half(half(images, first), second); // [.., 16, 3, 3]
  const rows = gpu.reshape(shapes, [images.shape[0], -1]);
  return gpu.matmul(rows, last.weight, { transposeB: true, bias: last.bias });
}

/** One step on new digits; the loss before it. */
function step(gpu, network, optimizer) {
  const { pixels, labels } = batch(BATCH);
  return gpu.scope(() => {
    const [images, targets] = [gpu.tensor(pixels, [BATCH, 1, SIDE, SIDE]), gpu.tensor(labels)];
    const loss = () => gpu.crossEntropy(scores(gpu, network, images), targets);
    const { value, gradients } = gpu.valueAndGrad(loss, network);
    gpu.clipGradNorm(gradients, 1);
    optimizer.step(gradients);
    return value;
  });
}

/** Shows some digits, and under each what `textOf(i)` says. */
function showDigits({ pixels, labels }, textOf) {
  const items = [...labels.slice(0, 20)].map((digit, i) => {
    const [item, text] = [document.createElement('li'), textOf(i)];
    item.className = text.endsWith('✗') ? 'wrong' : 'right';
    item.title = `a ${digit}`;
    item.append(picture(pixels.slice(i * SIDE * SIDE, (i + 1) * SIDE * SIDE)), text);
    return item;
  });
  byId('digits').replaceChildren(...items);
}

/** Shows some new digits with what the network reads; the share of 500 that it reads right. */
async function examine(gpu, network) {
  const fresh = batch(500);
  const images = gpu.tensor(fresh.pixels, [500, 1, SIDE, SIDE]);
  const best = gpu.scope(() => gpu.argmax(scores(gpu, network, images), { axis: 1 }));
  const read = await best.data();
  gpu.free(images, best);
  showDigits(fresh, (i) => (read[i] === fresh.labels[i] ? `${read[i]}` : `${read[i]} ✗`));
  return fresh.labels.filter((digit, i) => digit === read[i]).length / read.length;
}

async function learn(gpu) {
  const network = networkOf(gpu);
  const optimizer = new AdamW(gpu, network, { learningRate: 0.01 });
  losses = [];
  status.textContent = 'Compiling shaders and learning the first ten steps. Without a real GPU that takes a minute.';
  // The losses of ten steps are read at once, so that the GPU does not wait.
  while (losses.length < STEPS && !stopped) {
    const values = Array.from({ length: 10 }, () => step(gpu, network, optimizer));
    losses.push(...(await Promise.all(values.map((value) => value.item()))));
    gpu.free(values);
    draw();
    status.textContent = `step ${losses.length}, loss ${losses.at(-1).toFixed(3)}`;
  }
  if (losses.length === 0) return;
  const share = await examine(gpu, network);
  const right = `reads ${Math.round(100 * share)} % of 500 new digits`;
  status.textContent = `${losses.length} steps, loss ${losses.at(-1).toFixed(3)}, ${right}`;
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
window.addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
draw();
showDigits(batch(20), () => '?');
