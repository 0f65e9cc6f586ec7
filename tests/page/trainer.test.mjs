// Training an adapter on a real device: a small model of tensors, with its trainings in the private file system, and
// loaded ones.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { longTest, testIf } from '../long.mjs';
import { STORYTELLER, openSite } from './site.mjs';

const BLANK = '<!doctype html><title>trainer</title>';
const site = await openSite({
  mounts: { '/tests/': path.join(ROOT, 'tests') },
  routes: { '/blank.html': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(BLANK) },
});
// One for all tabs, with one private file system.
const context = await site.browser.newContext();
const openTab = async () => {
  const tab = await context.newPage();
  tab.crashes = [];
  tab.on('pageerror', (error) => tab.crashes.push(String(error)));
  await tab.goto(`${site.url}/blank.html`);
  return tab;
};
const page = await openTab();

/**
 * Runs `work` in the page with `open(options, more)`, which opens a trainer of the small model, and
 * `losses(t, options)`, which runs it and gives what its steps said. All share a device, whose pipelines are made once.
 */
async function onPage(work, argument, where = page) {
  const run = `(async () => {
    const { Gpu, ...training } = await import('/dist/training/index.js');
    const { LocalHost } = await import('/dist/training/language/local-host.js');
    const { Trainer } = await import('/dist/training/language/trainer.js');
    const tiny = await import('/tests/js/tiny_trainable.mjs');
    globalThis.gpu ??= await Gpu.create();
    const open = async (options = {}, { base = tiny.BASE, clock, model = {}, make } = {}) => {
      const openModel = make ?? (async () => tiny.tinyTrainable(globalThis.gpu));
      const warnings = [];
      const { onWarning = (warning) => warnings.push(warning), ...plain } = options;
      const given = { rank: 4, learningRate: 0.05, schedule: 'constant', warmUp: 0, ...plain };
      const host = await LocalHost.open({ base, options: plain.resume ? plain : given, openModel, clock });
      return Object.assign(new Trainer(tiny.tinyModel(model), host, onWarning), { warnings });
    };
    const losses = async (t, options = {}, each = () => {}) => {
      const found = [];
      for await (const step of t.run(tiny.SENTENCES, { batch: 2, length: 48, epochs: 2, ...options })) {
        found.push(step);
        if ((await each(step)) === 'break') break;
      }
      return found;
    };
    const lossOf = (steps) => steps.map(({ loss }) => loss);
    const said = ({ code, message }) => code + ': ' + message;
    const outcome = (work) => Promise.resolve().then(work).then((it) => 'gave ' + it, said);
    const numbers = async (t) => [...new Float32Array(await (await t.adapter()).arrayBuffer())];
    return (${work})({ open, losses, lossOf, outcome, numbers, training, tiny, Gpu }, ${JSON.stringify(argument)});
  })()`;
  const result = await where.evaluate(run);
  assert.deepEqual(where.crashes, []);
  return result;
}

const near = (found, expected, what) => {
  assert.equal(found.length, expected.length, what);
  const at = expected.findIndex((value, index) => !(Math.abs(found[index] - value) < 1e-4));
  assert.equal(at, -1, `${what}: ${found}, not ${expected}`);
};

test('the loss falls, and steps say how far they are', async () => {
  const steps = await onPage(async ({ open, losses }) => {
    const t = await open({ schedule: 'cosine', warmUp: 0.25 });
    const found = await losses(t, { batch: 4, epochs: 8 });
    await t.free();
    return found;
  });
  assert.deepEqual(
    steps.map(({ step, steps: all, epoch }) => [step, all, epoch]),
    Array.from({ length: 8 }, (_, at) => [at + 1, 8, at + 1]),
  );
  assert.ok(steps.at(-1).loss < steps[0].loss - 0.2, steps.map(({ loss }) => loss).join(' '));
  assert.equal(steps.at(-1).tokens, 8 * 153, 'without padding');
  assert.equal(steps.at(-1).secondsLeft, 0);
  near(
    steps.slice(0, 4).map(({ learningRate }) => learningRate),
    [0.025, 0.05, 0.05, 0.04665],
    'rates',
  );
  for (const { tokensPerSecond, gradientNorm } of steps) assert.ok(tokensPerSecond > 0 && gradientNorm > 0);
});

test('batches of a step add up to one larger batch; a seed decides on all', async () => {
  const [large, small, other] = await onPage(async ({ open, losses, lossOf }) => {
    const found = [];
    for (const [seed, options] of [
      [3, { batch: 3 }],
      [3, { batch: 1, accumulate: 3 }],
      [4, { batch: 3 }],
    ]) {
      const t = await open({ seed });
      found.push(lossOf(await losses(t, options)));
      await t.free();
    }
    return found;
  });
  near(small, large, 'losses');
  assert.notDeepEqual(other, large);
});

test('a run that was interrupted and kept goes on as if it had not been', async () => {
  const found = await onPage(async ({ open, losses, lossOf, numbers, training }) => {
    const options = { epochs: 3, heldOut: 0.3, evaluateEvery: 1 };
    const whole = await open();
    const expected = await losses(whole, options);
    const matrices = await numbers(whole);
    await whole.free();
    const first = await open({ name: 'in two parts' });
    const before = await losses(first, options, ({ step }) => (step === 2 ? 'break' : ''));
    const { unfinished } = first;
    await first.free();
    const saved = await training.savedTrainings();
    const second = await open({ resume: 'in two parts' });
    const known = second.unfinished;
    const after = await losses(second, options);
    const own = await numbers(second);
    const [over] = await training.savedTrainings();
    await second.free();
    const isDeleted = await training.deleteTraining('in two parts');
    const left = [await training.savedTrainings(), await training.deleteTraining('in two parts')];
    const held = (steps) => steps.map(({ heldOutLoss }) => heldOutLoss);
    return {
      losses: [lossOf(expected), lossOf([...before, ...after])],
      held: [held(expected), held([...before, ...after])],
      steps: after.map(({ step }) => step),
      matrices: [matrices, own],
      tokens: [expected.at(-1).tokens, after.at(-1).tokens],
      rest: { unfinished, known, saved, over, isDeleted, left },
    };
  });
  near(found.losses[1], found.losses[0], 'losses');
  near(found.held[1], found.held[0], 'held-out losses');
  near(found.matrices[1].slice(100), found.matrices[0].slice(100), 'matrices');
  assert.equal(found.tokens[1], found.tokens[0]);
  const { unfinished, known, saved, over, isDeleted, left } = found.rest;
  assert.deepEqual([unfinished, known], [{ step: 2, steps: found.losses[0].length }, unfinished]);
  assert.deepEqual(found.steps[0], 3);
  const [{ name, step, steps, architecture, model, bytes }] = saved;
  assert.deepEqual(
    { name, step, steps, architecture, model },
    { ...unfinished, name: 'in two parts', architecture: 'llama', model: 'tiny' },
  );
  assert.ok(bytes > 1000);
  assert.equal(over.step, over.steps);
  assert.deepEqual([isDeleted, ...left], [true, [], false]);
});

test('a closed tab loses what came after the last save, no more', async () => {
  const tab = await openTab();
  // Two seconds pass whenever somebody looks.
  const before = await onPage(
    async ({ open, losses }) => {
      let now = 0;
      const t = await open({ name: 'closed' }, { clock: () => (now += 2000) });
      const steps = [];
      // The loop stays where it is: nothing ends the run.
      await new Promise((resolve) => {
        void losses(t, { epochs: 3, saveEvery: 9 }, async ({ loss, step }) => {
          steps.push(loss);
          if (step === 5) await new Promise(() => resolve());
        });
      });
      return steps;
    },
    undefined,
    tab,
  );
  await tab.close();
  const after = await onPage(async ({ open, losses, lossOf, training }) => {
    const t = await open({ resume: 'closed' });
    const { step } = t.unfinished;
    const found = lossOf(await losses(t, { epochs: 3 }));
    await t.free();
    await training.deleteTraining('closed');
    return { step, found };
  });
  assert.ok(after.step >= 1 && after.step < 5, `a save in the midst of the run: ${after.step}`);
  near(after.found.slice(0, 5 - after.step), before.slice(after.step), 'losses after the save');
});

test('what does not fit a training that was kept is refused with both values', async () => {
  const found = await onPage(async ({ open, losses, outcome, training, tiny }) => {
    const t = await open({ name: 'strict' });
    const other = await outcome(() => open({ name: 'strict' }));
    const busy = await outcome(() => training.deleteTraining('strict'));
    await losses(t, {}, () => 'break');
    await t.save('another name');
    await t.free();
    const refused = {
      other,
      busy,
      base: await outcome(() => open({ resume: 'strict' }, { base: { ...tiny.BASE, digest: '4567' } })),
      rank: await outcome(() => open({ resume: 'strict', rank: 8 })),
      nothing: await outcome(() => open({ resume: 'nobody' })),
    };
    const again = await open({ resume: 'strict' });
    refused.batch = await outcome(() => losses(again, { batch: 3 }));
    refused.examples = await outcome(() =>
      again.run(['another text'], { batch: 2, length: 48, epochs: 2, resume: true }).next(),
    );
    const anew = await losses(again, { resume: false, epochs: 1 });
    refused.over = await outcome(() => losses(again, { resume: true }));
    await again.free();
    const names = (await training.savedTrainings()).map(({ name }) => name);
    for (const name of names) await training.deleteTraining(name);
    return { refused, names: names.toSorted(), anew: anew[0].step };
  });
  const says = (name, pattern) => assert.match(found.refused[name], pattern, name);
  says('other', /^invalid_argument: trainer: another trainer, here or in another tab, has the training 'strict'/);
  says('busy', /^invalid_argument: .*another trainer/);
  says('base', /^invalid_argument: .*'strict' was trained on a model with digest "0123", found "4567"/);
  says('rank', /^invalid_argument: .*'strict' was trained with rank 4, found 8/);
  says('nothing', /^invalid_argument: trainer: no training 'nobody' is kept here/);
  says('batch', /^invalid_argument: run: the run was interrupted with batch 2, found 3/);
  says('examples', /^invalid_argument: run: the interrupted run had its examples with data "\w+", found "\w+"/);
  says('over', /^invalid_argument: run: there is no interrupted run/);
  assert.deepEqual(found.names, ['another name', 'strict']);
  assert.equal(found.anew, 1);
});

test('a loss that is no number ends the run, and the last good adapter stays', async () => {
  const found = await onPage(async ({ open, losses, outcome, numbers }) => {
    const t = await open({ learningRate: 1e30 });
    const steps = [];
    const good = [];
    const error = await outcome(() =>
      losses(t, {}, async (step) => {
        steps.push(step.loss);
        good.push(await numbers(t));
      }),
    );
    const after = await numbers(t);
    const { unfinished } = t;
    await t.free();
    // Before the last step that was done.
    return {
      error,
      unfinished,
      count: steps.length,
      isGood: after.every(Number.isFinite),
      same: String(after) === String(good.at(-2)),
    };
  });
  assert.match(
    found.error,
    /^invalid_argument: run: step \d: the (loss|norm of the gradients) is (NaN|Infinity); .* a smaller learningRate/,
  );
  assert.equal(found.unfinished, undefined);
  assert.ok(found.isGood);
  assert.ok(found.count === 1 || found.same, 'the matrices are those whose loss was a number');
});

test('with held-out examples the best adapter stays, and patience ends the run', async () => {
  const found = await onPage(async ({ open, losses, numbers, tiny }) => {
    // Held-out letters that the sentences have not: learning makes their loss larger, sooner or later.
    const t = await open({ learningRate: 0.3 });
    const after = [];
    const options = { batch: 4, epochs: 12, evaluateEvery: 1, patience: 2, heldOut: ['qzxqzxqzxqzx', 'jkvjkvjkvjkv'] };
    const steps = await losses(t, options, async () => void after.push(String(await numbers(t))));
    const best = String(await numbers(t));
    await t.free();
    return { held: steps.map(({ heldOutLoss }) => heldOutLoss), at: after.indexOf(best), steps: steps[0].steps };
  });
  const least = found.held.indexOf(Math.min(...found.held));
  assert.equal(found.held.length, least + 3, `patience: ${found.held}`);
  assert.ok(found.held.length < found.steps);
  assert.equal(found.at, least, 'the matrices are those of the least held-out loss');
});

test('a full disk is said once, and training goes on', async () => {
  const found = await onPage(async ({ open, losses, outcome, training }) => {
    const create = FileSystemFileHandle.prototype.createWritable;
    FileSystemFileHandle.prototype.createWritable = async () => {
      throw new DOMException('no room', 'QuotaExceededError');
    };
    const t = await open({ name: 'large' });
    const steps = await losses(t, { saveEvery: 0 });
    const error = await outcome(() => t.save());
    FileSystemFileHandle.prototype.createWritable = create;
    const { warnings } = t;
    await t.save();
    await t.free();
    const kept = await training.deleteTraining('large');
    return { warnings, steps: steps.length, all: steps[0].steps, error, kept };
  });
  assert.deepEqual(found.warnings, [{ code: 'cache_full', message: "the training 'large' is not kept: no room" }]);
  assert.equal(found.steps, found.all);
  assert.match(found.error, /^limit_exceeded: the training 'large' is not kept: no room/);
  assert.ok(found.kept);
});

test('wrong sets, aborts, and ends', async () => {
  const found = await onPage(async ({ open, losses, outcome, tiny, training }) => {
    const t = await open();
    const first = (examples, options) => outcome(() => t.run(examples, { length: 48, ...options }).next());
    const results = {
      empty: await first([]),
      masked: await first(['a', 'b']),
      left: await first(['one text'], { heldOut: 0.5 }),
      held: await first(tiny.SENTENCES, { heldOut: ['a'] }),
    };
    const { warnings } = t;
    await t.run([...tiny.SENTENCES, 'long '.repeat(20)], { length: 48 }).next();
    results.warnings = [...warnings];
    results.busy = await outcome(() => t.run(tiny.SENTENCES).next());
    const own = await open();
    const signal = new AbortController();
    const seen = [];
    results.aborted = await outcome(() =>
      losses(own, { signal: signal.signal }, ({ step }) => {
        seen.push(step);
        signal.abort(new Error('enough'));
      }),
    );
    results.seen = seen;
    results.unfinished = own.unfinished;
    results.after = (await losses(own, { resume: true }, () => own.stop())).map(({ step }) => step);
    results.rest = (await losses(own, { resume: true })).map(({ step }) => step);
    await own.free();
    results.freed = await outcome(() => own.adapter());
    await t.free();
    // A loop that nobody goes on with.
    const left = await open({ name: 'left' });
    await left.run(tiny.SENTENCES, { batch: 2, length: 48 }).next();
    await left.free();
    const again = await open({ resume: 'left' });
    results.kept = again.unfinished;
    await again.free();
    await training.deleteTraining('left');
    return results;
  });
  assert.equal(found.empty, 'invalid_argument: run: there are no examples');
  assert.equal(found.masked, 'invalid_argument: run: no token of the 2 examples is learned');
  assert.equal(found.left, 'invalid_argument: run: heldOut 0.5 of 1 examples leaves none to learn from');
  assert.equal(found.held, 'invalid_argument: run: no token of the 1 held-out examples is learned');
  const message = '1 of 8 examples have more than 48 tokens, up to 100, and end there';
  assert.deepEqual(found.warnings, [{ code: 'examples_cut', message }]);
  assert.match(found.busy, /^invalid_argument: run: another run is on/);
  assert.equal(found.aborted, 'undefined: enough');
  assert.deepEqual([found.seen, found.unfinished, found.after, found.rest], [[1], { step: 1, steps: 4 }, [2], [3, 4]]);
  assert.match(found.freed, /^invalid_argument: adapter: the trainer was freed/);
  assert.deepEqual(found.kept, { step: 1, steps: 2 }, 'what was learned is kept');
});

/** Most dispatches of a step: each costs the same for any number of tokens, and most of the time of a small model. */
const MOST_DISPATCHES = 300;

const sentences = ['the cat sat on the mat', 'a dog barks', 'birds sing in trees', 'rain falls', 'the sun is warm'];

/** A loaded fixture learns five sentences; `options` of load. */
async function learned(options) {
  const run = `(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const { trainer } = await import('/dist/training/index.js');
    const options = { backend: 'webgpu', selfCheck: false, ...${JSON.stringify(options)} };
    const model = await WasmModel.load('/fixtures/models/llama-f32.gguf', options);
    const few = { maxTokens: 12, temperature: 0, ignoreEos: true };
    const write = async (adapters) => (await model.generate('the cat', { ...few, adapters })).text;
    const before = await write([]);
    const unknown = await trainer(model, { targets: ['attn_x'] }).catch(({ code, message }) => code + ': ' + message);
    const t = await trainer(model, { rank: 8, learningRate: 0.02, schedule: 'constant', warmUp: 0, name: 'fixture' });
    const steps = [];
    const ids = [];
    const { prototype } = GPUComputePassEncoder;
    const { dispatchWorkgroups } = prototype;
    let dispatches = 0;
    prototype.dispatchWorkgroups = function (...grid) {
      dispatches += 1;
      return dispatchWorkgroups.apply(this, grid);
    };
    const counts = [];
    for await (const step of t.run(${JSON.stringify(sentences)}, { epochs: 8, length: 64 })) {
      steps.push(step);
      counts.push(dispatches);
      if (step.step % 4 === 0) ids.push(await t.use());
      dispatches = 0;
    }
    prototype.dispatchWorkgroups = dispatchWorkgroups;
    const after = await write([{ id: t.adapterId }]);
    const alone = await write([]);
    const tokens = await model.tokenize('the cat sat on the mat');
    const logprobs = async (adapters) => [...(await model.evaluate(tokens, { adapters })).logprobs];
    const score = async (adapters) => (await logprobs(adapters)).reduce((a, b) => a + b, 0);
    const scores = [await score([]), await score([{ id: t.adapterId }])];
    const { targets, parameters } = t;
    await t.free();
    const again = await trainer(model, { resume: 'fixture' });
    const file = await again.adapter({ dtype: 'f16' });
    const half = await model.addAdapter(file);
    scores.push(await score([{ id: half }]));
    await again.free();
    await model.free();
    const losses = steps.map(({ loss }) => loss);
    return { before, after, alone, unknown, losses, ids, scores, targets, parameters, bytes: file.size, counts };
  })()`;
  const found = await page.evaluate(run);
  assert.deepEqual(page.crashes, []);
  return found;
}

for (const worker of [false, true]) {
  testIf(worker)(`a loaded model learns${worker ? ' in its worker' : ''}`, async () => {
    const asked = [];
    const listen = (request) => asked.push(new URL(request.url()).pathname);
    context.on('request', listen);
    const found = await learned({ worker });
    context.off('request', listen);
    const scripts = asked.filter((name) => name.endsWith('/training-worker.js'));
    assert.equal(scripts.length, worker ? 1 : 0, 'only a worker that trains loads its file');
    const { losses, before, after, alone, unknown, ids, scores } = found;
    assert.match(unknown, /^invalid_argument: trainer: targets: the model has no 'attn_x'; it has attn_q, /);
    assert.ok(losses.at(-1) < losses[0] - 0.5, String(losses));
    assert.notEqual(after, before);
    assert.equal(alone, before, 'the model itself is as it was');
    // A step of one layer, with 14 matrices that are learned.
    if (!worker) assert.ok(Math.max(...found.counts.slice(1)) <= MOST_DISPATCHES, `${found.counts} dispatches`);
    assert.ok(ids.length === 2 && ids[1] > ids[0], String(ids));
    assert.ok(scores[1] > scores[0] + 1, String(scores));
    assert.ok(Math.abs(scores[2] - scores[1]) < 0.02 * Math.abs(scores[1]), `of f16, after a resume: ${scores}`);
    assert.deepEqual(found.targets.toSorted(), [
      'attn_k',
      'attn_output',
      'attn_q',
      'attn_v',
      'ffn_down',
      'ffn_gate',
      'ffn_up',
    ]);
    assert.ok(found.bytes > 2 * found.parameters && found.bytes < 2.5 * found.parameters + 4096);
  });
}

longTest('with what train.html suggests the built-in model learns the name of a hero', async (context) => {
  const found = await page.evaluate(async (source) => {
    const { WasmModel } = await import('/dist/index.js');
    const { trainer } = await import('/dist/training/index.js');
    const { SAMPLE, SAMPLE_PROMPT } = await import('/train/sample.js');
    const { suggested } = await import('/train/suggested.js');
    const model = await WasmModel.load(source, { backend: 'webgpu', selfCheck: false, worker: false });
    const messages = [{ role: 'user', content: SAMPLE_PROMPT }];
    const write = async (adapters) => {
      return (await model.generate(messages, { maxTokens: 24, temperature: 0, adapters })).text;
    };
    const before = await write([]);
    const start = performance.now();
    const { rank, rate, epochs, batch, length, 'held-out': heldOut } = suggested(model.info);
    const t = await trainer(model, { rank, learningRate: rate });
    const losses = [];
    for await (const { loss } of t.run(SAMPLE, { epochs, batch, length, heldOut: heldOut / 100 })) losses.push(loss);
    const seconds = (performance.now() - start) / 1000;
    const after = await write([{ id: await t.use() }]);
    await t.free();
    await model.free();
    return { before, after, losses, seconds };
  }, STORYTELLER);
  assert.deepEqual(page.crashes, []);
  context.diagnostic(`${found.seconds.toFixed(0)} s: ${found.losses.map((loss) => loss.toFixed(2)).join(' ')}`);
  assert.doesNotMatch(found.before, /Quillo/);
  assert.match(found.after, /Quillo/);
});
