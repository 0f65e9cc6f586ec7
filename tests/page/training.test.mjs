// Gradients on a real device: every rule against central differences in double precision, models against PyTorch,
// optimizers, memory and wrong use.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import * as references from '../../www/kernels/references.js';
import { CASES, differences } from '../js/gradient_cases.mjs';
import { longTest } from '../long.mjs';
import { openSite } from './site.mjs';

const BLANK = '<!doctype html><title>training</title>';
const site = await openSite({
  mounts: { '/tests/': path.join(ROOT, 'tests') },
  routes: { '/blank.html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK) },
});
const page = await site.open('/blank.html');

/** Runs `work` in the page with the entry and an open `Gpu`. */
async function onGpu(work, argument) {
  const run = `(async () => {
    const training = await import('/dist/training/index.js');
    globalThis.gpu ??= await training.Gpu.create();
    return (${work})(globalThis.gpu, training, ${JSON.stringify(argument)});
  })()`;
  const result = await page.evaluate(run);
  assert.deepEqual(page.crashes, []);
  return result;
}

longTest('every rule gives what central differences give', async () => {
  const found = await onGpu(async (gpu) => {
    const { CASES, gradientsOn } = await import('/tests/js/gradient_cases.mjs');
    // All are queued before the first is read.
    const work = CASES.map(async (item) => {
      const made = gradientsOn(gpu, item).catch((error) => ({
        error: `${error.code}: ${error.message} ${error.stack}`,
      }));
      return [item.name, await made];
    });
    return Object.fromEntries(await Promise.all(work));
  });
  const wrong = [];
  for (const item of CASES) {
    const { error, shapes, gradients } = found[item.name];
    if (error) {
      wrong.push(`${item.name}: ${error}`);
      continue;
    }
    assert.deepEqual(
      shapes,
      item.inputs.slice(0, item.inputs.length - (item.fixed ?? 0)).map(([shape]) => String(shape)),
      item.name,
    );
    differences(references, item).forEach((expected, input) => {
      const most = expected.reduce((a, b) => Math.max(a, Math.abs(b)), 1);
      const at = expected.findIndex(
        (value, i) => !(Math.abs(gradients[input][i] - value) <= 2e-5 * most + 2e-4 * Math.abs(value)),
      );
      if (at >= 0) wrong.push(`${item.name}, input ${input}: [${at}] is ${gradients[input][at]}, not ${expected[at]}`);
    });
  }
  assert.deepEqual(wrong, []);
});

const FIXTURE = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests', 'fixtures', 'gradients.json'), 'utf8'));

/** Whether all numbers are near, as far as the largest allows. */
function near(found, expected, what) {
  assert.equal(found.length, expected.length, what);
  const limit = 1e-4 * expected.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-2);
  const at = expected.findIndex((value, i) => !(Math.abs(found[i] - value) <= limit));
  assert.equal(at, -1, `${what}: [${at}] is ${found[at]}, not ${expected[at]}`);
}

test("a transformer's gradients are PyTorch's, and so are its parameters after some steps", async () => {
  const found = await onGpu(async (gpu, { AdamW, Sgd }, fixture) => {
    const { lossOf, parametersOf, trained } = await import('/tests/js/tiny_transformer.mjs');
    const p = parametersOf(gpu, fixture);
    const { value, gradients } = gpu.valueAndGrad(() => lossOf(gpu, p, fixture), { deep: [p] });
    const values = Object.entries(gradients.deep[0]).map(async ([name, tensor]) => [name, [...(await tensor.data())]]);
    const made = { loss: await value.item(), gradients: Object.fromEntries(await Promise.all(values)) };
    gpu.freeAll(gradients, p, value);
    const adam = { learningRate: 0.05, betas: [0.8, 0.95], weightDecay: 0.1 };
    const sgd = { learningRate: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 };
    made.AdamW = await trained(gpu, fixture, (p) => new AdamW(gpu, p, adam));
    made.Sgd = await trained(gpu, fixture, (p) => new Sgd(gpu, p, sgd));
    return made;
  }, FIXTURE);
  near([found.loss], [FIXTURE.loss], 'loss');
  for (const [name, expected] of Object.entries(FIXTURE.gradients)) near(found.gradients[name], expected, name);
  for (const optimizer of ['AdamW', 'Sgd']) {
    const { parameters, losses, norms } = FIXTURE[optimizer];
    near(found[optimizer].losses, losses, `${optimizer}'s losses`);
    near(found[optimizer].norms, norms, `norms of ${optimizer}'s gradients`);
    for (const [name, expected] of Object.entries(parameters)) {
      near(found[optimizer].parameters[name], expected, `${name} after ${optimizer}`);
    }
  }
});

test("gradients of convolutions, pooling and transforms are PyTorch's", async () => {
  const found = await onGpu(async (gpu, _, { shapes, parameters }) => {
    const p = Object.fromEntries(
      Object.entries(parameters).map(([name, list]) => [name, gpu.tensor(list, shapes[name])]),
    );
    const { value, gradients } = gpu.valueAndGrad(() => {
      const numbers = { stride: [1, 2], padding: [2, 1], dilation: [2, 1], groups: 2 };
      let y = gpu.conv2d(p.x, p.w1, { bias: p.b1, ...numbers, activation: 'silu' });
      y = gpu.groupNorm(y, { groups: 3, weight: p.weight, bias: p.bias });
      y = gpu.convTranspose2d(y, p.w2, { stride: 2, padding: 1, outputPadding: 1 });
      y = gpu.maxPool2d(gpu.leakyRelu(y), { kernel: 3, stride: 2, padding: 1 });
      y = gpu.upsample(y, { size: [5, 6], mode: 'linear' });
      y = gpu.avgPool2d(gpu.elu(y), { kernel: [2, 3], stride: 1, padding: 1, countIncludePad: false });
      const sides = [
        [1, 0],
        [1, 2],
      ];
      const rows = gpu.reshape(gpu.pad(y, sides, { mode: 'reflect' }), [y.shape[0], y.shape[1], -1]);
      y = gpu.conv1d(rows, p.w3, { padding: 1 });
      const z = gpu.rfft(y);
      const back = gpu.irfft(gpu.mul(z, z), { length: y.shape[2] });
      return gpu.mean(gpu.mul(gpu.hardSwish(back), y));
    }, p);
    const values = Object.entries(gradients).map(async ([name, tensor]) => [name, [...(await tensor.data())]]);
    return { loss: await value.item(), gradients: Object.fromEntries(await Promise.all(values)) };
  }, FIXTURE.net);
  near([found.loss], [FIXTURE.net.loss], 'loss');
  for (const [name, expected] of Object.entries(FIXTURE.net.gradients)) near(found.gradients[name], expected, name);
});

test('a quantised matrix lets the gradient through, half precision gets it in f32', async () => {
  const found = await onGpu(async (gpu) => {
    // Two rows of q8_0: scale 0.5, quants 1 to 32 and their negatives.
    const rows = [1, -1].flatMap((sign) => [0, 0x38, ...Array.from({ length: 32 }, (_, i) => (sign * (i + 1)) & 255)]);
    const w = gpu.tensor(Uint8Array.from(rows), [2, 32], 'q8_0');
    const x = gpu.tensor(new Float32Array(32).fill(1), [1, 32]);
    const half = gpu.tensor([1, 2], [2], 'f16');
    const scaled = () => gpu.sum(gpu.mul(gpu.matmul(x, w, { transposeB: true }), half));
    const [dx, dHalf] = gpu.grad(scaled, [x, half]);
    const loss = () => gpu.crossEntropy(x, gpu.tensor(Uint32Array.of(1)), { weights: w });
    const [dStates] = gpu.grad(loss, [x]);
    const experts = gpu.tensor(new Uint8Array(68).fill(1), [2, 1, 32], 'q8_0');
    const chosen = () => gpu.sum(gpu.matmulGrouped(x, experts, gpu.tensor(Uint32Array.of(1, 0), [1, 2])));
    const [dRow] = gpu.grad(chosen, [x]);
    return [dHalf.dtype, ...(await Promise.all([dx, dHalf, dStates, dRow].map(async (t) => [...(await t.data())])))];
  });
  const [dtype, dx, dHalf, dStates, dRow] = found;
  assert.equal(dtype, 'f32');
  near(
    dx,
    Array.from({ length: 32 }, (_, i) => -(i + 1) / 2),
    'dx',
  );
  near(dHalf, [264, -264], 'd half');
  near(
    dStates,
    Array.from({ length: 32 }, (_, i) => i + 1),
    'dx of the loss',
  );
  // Two experts of quants 1, whose scale is 0x0101 in f16.
  for (const value of dRow) assert.ok(Math.abs(value / (2 * 257 * 2 ** -24) - 1) < 1e-6, `dx of experts is ${value}`);
});

test('variables: backward adds up what grad gives, and what is forgotten is not recorded', async () => {
  const found = await onGpu(async (gpu, { Sgd }) => {
    const numbers = Array.from({ length: 12 }, (_, i) => Math.sin(i));
    const x = gpu.tensor(numbers, [3, 4]);
    const lossOf = ({ w, b }) => {
      const kernel = gpu.reshape(gpu.narrow(w, 0, 0, 3), [4, 3, 1]);
      const y = gpu.conv1d(gpu.reshape(gpu.matmul(x, w, { bias: b }), [1, 3, 4]), kernel);
      const deep = gpu.checkpoint((h) => gpu.attention(gpu.tanh(h), h, gpu.mul(h, b)), gpu.reshape(y, [4, 4]));
      return gpu.sum(gpu.mul(deep, deep));
    };
    const make = () => ({ w: gpu.tensor(numbers.concat(1, 2, 3, 4), [4, 4]), b: gpu.tensor([1, 2, 3, 4]) });
    const read = async (tensors) => Promise.all(Object.values(tensors).map(async (t) => [...(await t.data())]));
    const expected = await read(gpu.grad(lossOf, make()));
    const plain = make();
    const p = { w: gpu.variable(plain.w), b: gpu.variable(plain.b) };
    const grads = () => ({ w: p.w.grad, b: p.b.grad });
    const failure = (call) => {
      try {
        return `gave ${call()}`;
      } catch ({ code, message }) {
        return `${code}: ${message}`;
      }
    };
    const loss = gpu.scope(() => lossOf(p));
    loss.backward();
    const once = await read(grads());
    const again = failure(() => loss.backward());
    gpu.scope(() => gpu.backward(lossOf(p)));
    const twice = await read(grads());
    const optimizer = new Sgd(gpu, p, { learningRate: 0.01 });
    const before = await read(p);
    optimizer.step();
    const after = await read(p);
    optimizer.zeroGrad();
    return {
      freed: plain.w.freed,
      ...{ expected, once, twice, before, after, again },
      cleared: p.w.grad === undefined,
      early: failure(() => optimizer.step()),
      unknown: failure(() => gpu.backward(gpu.noGrad(() => lossOf(p)))),
      place: failure(() => gpu.exp(p.w, { inPlace: true })),
      type: failure(() => gpu.variable(gpu.tensor(Uint32Array.of(1)))),
      inside: failure(() => gpu.grad(() => gpu.backward(lossOf(p)), x)),
      missed: failure(() => gpu.backward(gpu.sum(x))),
    };
  });
  assert.ok(found.freed && found.cleared);
  found.expected.forEach((values, i) => {
    near(found.once[i], values, `gradient ${i}`);
    near(
      found.twice[i],
      values.map((value) => 2 * value),
      `gradient ${i} of two calls`,
    );
    near(
      found.after[i],
      found.before[i].map((value, at) => value - 0.02 * values[at]),
      `parameter ${i} after a step`,
    );
  });
  const computed = /^invalid_argument: backward: \[\] f32 was not computed from variables, or only before the last/;
  for (const name of ['again', 'unknown', 'missed']) assert.match(found[name], computed, name);
  assert.match(found.early, /^invalid_argument: Sgd.step: no gradients yet$/);
  assert.match(found.place, /^invalid_argument: exp: x \(\[4, 4\] f32\) is needed for a gradient/);
  assert.match(found.type, /^invalid_argument: variable: x is \[1\] u32; there are gradients of f32, f16 and bf16$/);
  assert.match(found.inside, /^invalid_argument: backward: within grad or noGrad/);
});

test('memory: nothing is left, a checkpoint needs less, and scopes and errors free all', async () => {
  const found = await onGpu(async (_, { Gpu }) => {
    const { TensorEngine } = await import('/dist/wasm/webgguf.js');
    const { prototype } = TensorEngine;
    const [live, own] = [new Map(), { ...Object.getOwnPropertyDescriptors(prototype) }];
    let most = 0;
    const bytes = () => [...live.values()].reduce((sum, size) => sum + size, 0);
    const note = (handles) => {
      for (const { id, shape } of handles) live.set(id, 4 * shape.reduce((product, length) => product * length, 1));
      most = Math.max(most, bytes());
    };
    prototype.run = function (...args) {
      const handles = own.run.value.apply(this, args);
      note(handles);
      return handles;
    };
    prototype.shader = function (...args) {
      const handles = own.shader.value.apply(this, args);
      note(handles);
      return handles;
    };
    prototype.upload = function (...args) {
      const handle = own.upload.value.apply(this, args);
      note([handle]);
      return handle;
    };
    prototype.free_tensor = function (id) {
      live.delete(id);
      own.free_tensor.value.call(this, id);
    };
    const gpu = await Gpu.create();
    const x = gpu.tensor([1, 2, 3, 4], [2, 2]);
    const counts = {};
    const count = (name, work) => {
      most = 0;
      const [before, size] = [live.size, bytes()];
      let thrown = '';
      try {
        work();
      } catch (error) {
        thrown = error.message;
      }
      counts[name] = { left: live.size - before, most: most - size, thrown };
    };
    const block = (h) => gpu.tanh(gpu.matmul(gpu.silu(gpu.matmul(gpu.gelu(h), x)), x));
    const deep = (around) => () => {
      let h = gpu.scale(x, 0.1);
      for (let layer = 0; layer < 12; layer += 1) h = around(h);
      return gpu.sum(h);
    };
    count('grad', () => gpu.grad(deep(block), x).free());
    count('checkpoint', () =>
      gpu
        .grad(
          deep((h) => gpu.checkpoint(block, h)),
          x,
        )
        .free(),
    );
    // Layers of five activations of 4 KiB, with weights of 256 bytes.
    const [h, w] = [gpu.filled([128, 8], 0.1), gpu.filled([8, 8], 0.1)];
    const wide = (y) => gpu.tanh(gpu.matmul(gpu.silu(gpu.matmul(gpu.gelu(y), w)), w));
    const layers = (number, around) => () => {
      let y = h;
      for (let layer = 0; layer < number; layer += 1) y = around(y);
      return gpu.sum(y);
    };
    const kept = (y) => gpu.checkpoint(wide, y);
    for (const number of [4, 12]) {
      count(`all of ${number} layers`, () => gpu.grad(layers(number, wide), w).free());
      count(`inputs of ${number} layers`, () => gpu.grad(layers(number, kept), w).free());
    }
    count('backward', () => {
      const v = gpu.variable(gpu.copy(w));
      gpu.scope(() => gpu.backward(gpu.sum(wide(gpu.checkpoint(wide, gpu.matmul(h, v))))));
      gpu.free(v, v.grad);
    });
    count('backward with an error', () => {
      const v = gpu.variable(gpu.copy(w));
      let calls = 0;
      const odd = (y) => {
        calls += 1;
        return calls > 1 ? gpu.matmul(y, gpu.zeros([3, 3])) : gpu.exp(y);
      };
      try {
        gpu.scope(() => gpu.backward(gpu.sum(gpu.exp(gpu.checkpoint(odd, gpu.mul(v, gpu.exp(v)))))));
      } finally {
        v.free();
      }
    });
    count('valueAndGrad', () => gpu.freeAll(gpu.valueAndGrad(deep(block), [x, { x }])));
    count('in a scope', () => gpu.scope(() => void gpu.valueAndGrad(deep(block), { x })));
    count('freed inside', () => {
      const loss = () => {
        const y = gpu.scope(() => gpu.exp(gpu.exp(x)));
        const z = gpu.sum(gpu.mul(y, x));
        y.free();
        return z;
      };
      gpu.grad(loss, x).free();
    });
    count('an error in the function', () =>
      gpu.grad(() => {
        gpu.checkpoint((h) => gpu.exp(gpu.exp(h)), gpu.exp(x));
        throw new Error('mine');
      }, x),
    );
    count('no gradient', () => gpu.grad(() => gpu.sum(gpu.sinkhorn(gpu.exp(x))), x));
    count('an error in the backward pass', () => {
      let calls = 0;
      const odd = (h) => {
        calls += 1;
        return calls > 1 ? gpu.matmul(gpu.exp(h), gpu.zeros([3, 3])) : gpu.exp(h);
      };
      gpu.grad(() => gpu.sum(gpu.exp(gpu.checkpoint(odd, gpu.exp(x)))), x);
    });
    const after = [...(await x.data())];
    gpu.destroy();
    Object.defineProperties(prototype, own);
    return { counts, after };
  });
  const { counts } = found;
  for (const [name, { left }] of Object.entries(counts)) assert.equal(left, 0, `${name} leaves ${left} tensors`);
  const grown = (what) => (counts[`${what} of 12 layers`].most - counts[`${what} of 4 layers`].most) / 8;
  assert.equal(grown('inputs'), 4096, 'a layer whose inputs are kept');
  assert.ok(grown('all') >= 4 * 4096, `a layer of which all is kept takes ${grown('all')} bytes`);
  for (const name of ['grad', 'checkpoint', 'backward', 'valueAndGrad', 'in a scope', 'freed inside']) {
    assert.equal(counts[name].thrown, '', name);
  }
  assert.equal(counts['an error in the function'].thrown, 'mine');
  assert.match(counts['no gradient'].thrown, /^sinkhorn: this operation has no gradient/);
  assert.match(counts['backward with an error'].thrown, /^gradient of checkpoint: matmul: .*\[3, 3\] f32/);
  assert.match(counts['an error in the backward pass'].thrown, /^gradient of checkpoint: matmul: .*\[3, 3\] f32/);
  assert.deepEqual(found.after, [1, 2, 3, 4]);
});

test('wrong use says what is wrong', async () => {
  const messages = await onGpu(async (gpu, { AdamW, Sgd }) => {
    const [x, ids] = [gpu.tensor([1, 2, 3, 4], [2, 2]), gpu.tensor(Uint32Array.of(0, 1))];
    const w = gpu.tensor([1, 2], [2], 'f16');
    const loss = () => gpu.sum(x);
    const calls = {
      several: () => gpu.grad(() => gpu.exp(x), x),
      nothing: () => gpu.grad(() => 3, x),
      asynchronous: () => gpu.grad(async () => gpu.sum(x), x),
      integers: () => gpu.grad(loss, [x, ids]),
      number: () => gpu.grad(loss, { x, deep: [3] }),
      jumps: () => gpu.grad(() => gpu.sum(gpu.greater(x, 2)), x),
      among: () => gpu.grad(() => gpu.sum(gpu.add(gpu.exp(w), gpu.cast(gpu.argmax(x, { axis: 0 }), 'f32'))), { w, x }),
      independent: () => gpu.grad(() => gpu.sum(gpu.cast(w, 'f32')), x),
      nested: () => gpu.grad(() => gpu.grad(loss, x), x),
      written: () => gpu.grad(() => gpu.sum(gpu.exp(gpu.scale(x, 2), { inPlace: true })), x),
      shapes: () => gpu.grad(() => gpu.sum(gpu.matmul(x, gpu.zeros([3, 3]))), x),
      classes: () => gpu.crossEntropy(x, gpu.zeros([3], 'u32')),
      option: () => gpu.crossEntropy(x, ids, { weight: x }),
      rate: () => new Sgd(gpu, x, { learningRate: -1 }),
      betas: () => new AdamW(gpu, x, { betas: [0.9, 1] }),
      gradients: () => new AdamW(gpu, { x }).step({ x: w }),
      limit: () => gpu.clipGradNorm([x], 0),
      blocks: () => new Sgd(gpu, { w: gpu.tensor(new Uint8Array(34), [1, 32], 'q8_0') }, { learningRate: 1 }),
      changed: () => new AdamW(gpu, [x, ids]),
      nanRate: () => {
        const optimizer = new AdamW(gpu, { x });
        optimizer.learningRate = Number.NaN;
        optimizer.step({ x });
      },
      freedGradient: () => {
        const gradient = gpu.copy(x);
        gradient.free();
        new AdamW(gpu, { x }).step({ x: gradient });
      },
      freed: () => {
        const optimizer = new AdamW(gpu, { x });
        optimizer.free();
        optimizer.step({ x });
      },
      rows: () => gpu.variable(gpu.copy(x)).backward(),
    };
    const outcome = async (call) => {
      try {
        return `gave ${await call()}`;
      } catch (error) {
        return `${error.code}: ${error.message}`;
      }
    };
    const found = {};
    for (const [name, call] of Object.entries(calls)) found[name] = await outcome(call);
    const { value } = gpu.valueAndGrad(() => gpu.sum(gpu.mul(x, gpu.tensor([Number.NaN, 1]))), x);
    found.nan = await outcome(() => value.item());
    const marked = gpu.variable(gpu.copy(x));
    const infinite = gpu.sum(gpu.div(marked, 0));
    infinite.backward();
    found.infinite = await outcome(() => infinite.item());
    const unused = gpu.grad(loss, { x, w });
    found.unused = `${[...(await unused.w.data())]} ${unused.w}`;
    return found;
  });
  const wrong = (name, pattern) => assert.match(messages[name], new RegExp(`^invalid_argument: ${pattern}`), name);
  wrong('several', 'grad: the function must return a tensor of one element, found \\[2, 2\\] f32');
  wrong('nothing', 'grad: the function must return a tensor of one element, found 3');
  wrong('asynchronous', 'grad: the function must not be async');
  wrong('integers', 'grad: inputs\\[1\\] is \\[2\\] u32');
  wrong('number', 'grad: inputs.deep\\[0\\] must be a tensor, found 3');
  wrong('jumps', 'grad: .* only through greater, which has no gradient');
  wrong('among', 'grad: inputs.x: .* only through argmax, which has no gradient');
  wrong('independent', 'grad: the result does not depend on the inputs');
  wrong('nested', 'grad: within another grad');
  wrong('written', 'exp: x \\(\\[2, 2\\] f32\\) is needed for a gradient');
  wrong('shapes', 'matmul: a is \\[2, 2\\] f32 and b \\[3, 3\\] f32');
  wrong('classes', 'crossEntropy: x is \\[2, 2\\] f32 and targets \\[3\\] u32');
  wrong('option', "crossEntropy: there is no option 'weight'");
  wrong('rate', 'Sgd: learningRate must be a number from 0 .*found -1');
  wrong('betas', 'AdamW: betas\\[1\\] must be a number from 0 to below 1, found 1');
  wrong('gradients', 'AdamW.step: parameters.x is \\[2, 2\\] f32, gradients.x \\[2\\] f16');
  wrong('limit', 'clipGradNorm: the limit must be above 0, found 0');
  wrong('nan', 'item: the loss is NaN');
  wrong('infinite', 'item: the loss is Infinity');
  wrong('blocks', 'Sgd: parameters.w is \\[1, 32\\] q8_0; there are gradients of f32');
  wrong('changed', 'AdamW: parameters\\[1\\] is \\[2\\] u32; there are gradients of f32');
  wrong('nanRate', 'AdamW.step: learningRate must be a number from 0 .*found NaN');
  wrong('freedGradient', 'AdamW.step: gradients.x \\(\\[2, 2\\] f32\\) was freed');
  wrong('freed', 'AdamW.step: the optimizer was freed');
  wrong('rows', 'backward: a loss must be a tensor of one element, found \\[2, 2\\] f32');
  assert.equal(messages.unused, '0,0 [2] f32');
});

test('a step that needs more memory than there is fails, and smaller ones go on', async () => {
  const found = await onGpu(async (_, { Gpu, Sgd }) => {
    const gpu = await Gpu.create();
    const w = gpu.tensor([1]);
    const optimizer = new Sgd(gpu, { w }, { learningRate: 0.125 });
    const step = (length) => {
      const { value, gradients } = gpu.valueAndGrad(() => gpu.mean(gpu.mul(gpu.expand(w, [length]), 2)), { w });
      optimizer.step(gradients);
      gpu.freeAll(gradients);
      return value.item().then(String, ({ code, message }) => `${code}: ${message}`);
    };
    // SwiftShader has no buffers of 1 GiB, whatever it says.
    const values = [await step(8), await step(2 ** 28)];
    const kept = [...(await w.data())];
    w.free();
    const other = gpu.tensor([3]);
    const [after] = await gpu.grad(() => gpu.sum(gpu.mul(other, other)), [other])[0].data();
    gpu.destroy();
    return { values, kept, after };
  });
  assert.equal(found.values[0], '2');
  assert.match(found.values[1], /^out_of_memory: the GPU reported/);
  assert.equal(found.kept.length, 1);
  assert.equal(found.after, 6);
});

test('memory that does not suffice and a lost device: what is read next says so', async () => {
  const found = await onGpu(async (_, { AdamW, Gpu }) => {
    const request = GPUAdapter.prototype.requestDevice;
    const devices = [];
    GPUAdapter.prototype.requestDevice = async function (...args) {
      devices.push(await request.apply(this, args));
      return devices.at(-1);
    };
    const after = async (happens) => {
      const gpu = await Gpu.create();
      const w = gpu.tensor([1, 2, 3]);
      const optimizer = new AdamW(gpu, w);
      const { value, gradients } = gpu.valueAndGrad(() => gpu.sum(gpu.exp(w)), w);
      optimizer.step(gradients);
      await happens(devices.at(-1));
      const error = await value.item().catch(({ code }) => code);
      gpu.destroy();
      return error;
    };
    const full = new GPUUncapturedErrorEvent('uncapturederror', { error: new GPUOutOfMemoryError('no room') });
    const codes = [await after((device) => device.dispatchEvent(full)), await after((device) => device.destroy())];
    GPUAdapter.prototype.requestDevice = request;
    return codes;
  });
  assert.deepEqual(found, ['out_of_memory', 'device_lost']);
  await page.close();
});
