// In the page of mutants.test.mjs: runs kernel cases on a mutant of a shader.
//
// The harness compiles its shaders as ever. What it gave for each pipeline is kept, and while a mutant is tested
// `setPipeline` gets a pipeline of the mutated text instead: nothing is built anew, and one harness serves all mutants.

/** By shader module its label and text; by pipeline how it was made. */
const sources = new WeakMap();
const recipes = new WeakMap();

/** What runs instead of a pipeline, and the pipelines that the case at work has used. */
let instead = new Map();
let used = new Set();

function wrap(prototype, name, around) {
  const original = prototype[name];
  prototype[name] = function (...args) {
    return around.call(this, (...given) => original.apply(this, given), ...args);
  };
}

wrap(GPUDevice.prototype, 'createShaderModule', (create, given) => {
  const module = create(given);
  sources.set(module, given);
  return module;
});
wrap(GPUDevice.prototype, 'createComputePipeline', function (create, given) {
  const pipeline = create(given);
  recipes.set(pipeline, { device: this, given, source: sources.get(given.compute.module) });
  return pipeline;
});
wrap(GPUComputePassEncoder.prototype, 'setPipeline', (set, pipeline) => {
  used.add(pipeline);
  return set(instead.get(pipeline) ?? pipeline);
});

/** The pipeline with `change` made to its text; throws what the compiler says. */
async function changed(pipeline, change) {
  const {
    device,
    given,
    source: { label, code },
  } = recipes.get(pipeline);
  // Errors are caught here: those that reach the harness would make every later case fail.
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ label, code: change(code) });
  const made = device.createComputePipelineAsync({ ...given, compute: { ...given.compute, module } });
  const [result] = await Promise.allSettled([made]);
  const error = await device.popErrorScope();
  if (error || result.status === 'rejected') throw new Error(`${label}: ${(error ?? result.reason).message}`);
  return result.value;
}

/** Runs a case with some pipelines replaced. */
async function runWith(replaced, index) {
  instead = replaced;
  used = new Set();
  try {
    return { ...(await harness.run(index, false)), pipelines: used };
  } finally {
    instead = new Map();
  }
}

/** All of `pipelines` changed. */
async function changedAll(pipelines, change) {
  const pairs = await Promise.all([...pipelines].map(async (pipeline) => [pipeline, await changed(pipeline, change)]));
  return new Map(pairs);
}

const { default: init, Harness } = await import('/harness/webgguf.js');
await init();
const harness = await Harness.open();
const cases = harness.list();
const nameOf = ({ variant, case: name }) => `${variant}: ${name}`;

/** By number of a case how it comes out on the original shaders, once it has run. */
const sound = new Map();

/** Runs a case as it is, then with every pipeline made anew from the same text: both must pass, or be skipped. */
async function unmutated(index) {
  if (sound.has(index)) return sound.get(index);
  const plain = await runWith(new Map(), index);
  const same = await changedAll(plain.pipelines, (code) => code);
  const start = performance.now();
  const again = await runWith(same, index);
  const ms = performance.now() - start;
  for (const { status, reason } of [plain, again]) {
    if (status === 'failed') throw new Error(`without a mutant: ${reason}`);
  }
  sound.set(index, { ...plain, ms });
  return sound.get(index);
}

/** Numbers of the cases to try: those with the name `hint`, then quick ones about the kernel, and the others. */
function order({ kernel, hint, only }) {
  const known = (index) => sound.get(index)?.ms ?? 0;
  const all = [...cases.keys()].sort((a, b) => known(a) - known(b));
  const named = all.filter((index) => nameOf(cases[index]) === hint);
  if (only) return named;
  const about = all.filter((index) => cases[index].kernel === kernel);
  return [...new Set([...named, ...about, ...all])];
}

/**
 * Runs cases on a mutant until one kills it, and says how that came out.
 *
 * @param {{kernel: string, fingerprint: string, original: string, mutated: string, hint?: string,
 *   only?: boolean}} mutant in the shaders of `kernel`, known by their text `fingerprint`, `original` becomes
 *   `mutated`; `hint` names the case to try first, with `only` the only one
 * @returns {Promise<{outcome: 'killed' | 'survived' | 'refused' | 'skipped', case?: string, reason?: string,
 *   tried: number}>} killed: by a value that is wrong; refused: the shader does not compile; skipped: no case
 *   of it runs on this device
 */
export async function kill(mutant) {
  const { fingerprint, original, mutated } = mutant;
  const fits = (pipeline) => [fingerprint, original].every((text) => recipes.get(pipeline).source.code.includes(text));
  let tried = 0;
  for (const index of order(mutant)) {
    const name = nameOf(cases[index]);
    const { status, reason, pipelines } = await unmutated(index);
    if (status === 'skipped' && name === mutant.hint) return { outcome: 'skipped', reason, tried };
    const own = [...pipelines].filter(fits);
    if (own.length === 0) continue;
    tried += 1;
    let replaced;
    try {
      replaced = await changedAll(own, (code) => code.replace(original, () => mutated));
    } catch (error) {
      return { outcome: 'refused', case: name, reason: error.message, tried };
    }
    const found = await runWith(replaced, index);
    if (found.status === 'passed') continue;
    const byValue = /: element \d+ is /.test(found.reason);
    return { outcome: byValue ? 'killed' : 'refused', case: name, reason: found.reason, tried };
  }
  const skipped = cases.map((_, index) => index).filter((index) => sound.get(index)?.status === 'skipped');
  const own = skipped.find((index) => cases[index].kernel === mutant.kernel);
  if (tried === 0 && own !== undefined) return { outcome: 'skipped', reason: sound.get(own).reason, tried };
  return { outcome: 'survived', tried };
}
