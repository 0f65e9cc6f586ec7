// What wgpu's web backend does not do by itself. It knows no `subgroups`, so a device requested through it never has
// the feature, even where the adapter offers it (gfx-rs/wgpu issue 10146; pull request 10220 adds the mapping); it
// cannot ask for compatibility mode; and outside pages and workers, as in Node.js, it panics.

const SCOPES = ['Window', 'WorkerGlobalScope'];

/**
 * Where this is neither a page nor a worker, makes it look like a worker, as wgpu wants it while it looks for
 * `navigator.gpu`. Returns whether `hideScope` has to be called.
 */
export function showScope() {
  if (SCOPES.some((name) => globalThis[name] !== undefined)) return false;
  globalThis.WorkerGlobalScope = Object;
  return true;
}

export function hideScope() {
  delete globalThis.WorkerGlobalScope;
}

/**
 * Arms the next `requestDevice`, which then asks for the features in `wanted` that the adapter has, too. Returns an
 * object that the call fills in: `features` that the device has, and the adapter's `vendor`, `architecture`, `device`,
 * `description`, `subgroupMinSize`, `subgroupMaxSize`, its `subgroupMatrices` as text (`f16 f32 16x16x16`: factors,
 * sums, M×N×K), whether it is `software`: a program on the CPU that acts as a GPU, and whether WGSL has packed dot
 * products, `dot4`. (wgpu reads WGSL's features with an iterator, which npm's `webgpu` does not give.)
 */
export function armRequestDevice(wanted) {
  const facts = { features: [] };
  const prototype = globalThis.GPUAdapter?.prototype;
  if (!prototype) return facts;
  const original = prototype.requestDevice;
  prototype.requestDevice = async function (descriptor = {}) {
    prototype.requestDevice = original;
    const asked = [...(descriptor.requiredFeatures ?? [])];
    const added = wanted.filter((name) => this.features.has(name) && !asked.includes(name));
    const request = () => original.call(this, { ...descriptor, requiredFeatures: [...asked, ...added] });
    const device = await within(request, (late) => late?.destroy());
    const info = this.info ?? {};
    for (const key of ['vendor', 'architecture', 'device', 'description']) facts[key] = String(info[key] ?? '');
    facts.subgroupMinSize = Number(info.subgroupMinSize ?? 0);
    facts.subgroupMaxSize = Number(info.subgroupMaxSize ?? 0);
    const matrices = [...(info.subgroupMatrixConfigs ?? [])];
    facts.subgroupMatrices = matrices.map((m) => `${m.componentType} ${m.resultComponentType} ${m.M}x${m.N}x${m.K}`);
    facts.software = Boolean(info.isFallbackAdapter) || facts.architecture === 'swiftshader';
    facts.features = [...device.features];
    facts.dot4 = Boolean(navigator.gpu.wgslLanguageFeatures?.has('packed_4x8_integer_dot_product'));
    return device;
  };
  return facts;
}

/** Seconds that a browser may take to answer: the drivers of some virtual GPUs never do. */
const PATIENCE = 15;

/**
 * What `request` gives; rejects where no answer comes in time. Seconds are counted one by one, so that the time that a
 * page was put away is none. `drop` gets what comes too late.
 */
async function within(request, drop) {
  let timer;
  let seconds = 0;
  const late = new Promise((_, reject) => {
    timer = setInterval(() => {
      seconds += 1;
      if (seconds === PATIENCE) reject(new Error(`no answer for ${PATIENCE} s`));
    }, 1000);
  });
  try {
    const answer = Promise.resolve(request());
    late.catch(() => answer.then(drop).catch(() => {}));
    return await Promise.race([answer, late]);
  } finally {
    clearInterval(timer);
  }
}

/**
 * Asks for an adapter, which wgpu's next `requestAdapter` then gets: of this `featureLevel`, since wgpu cannot ask for
 * `compatibility`, which is for devices with OpenGL ES alone. Resolves to an object that has `isFound`, or `why` where
 * the browser throws or does not answer.
 */
export async function askForAdapter(featureLevel) {
  const { gpu } = navigator;
  let adapter;
  try {
    adapter = await within(() => gpu.requestAdapter({ powerPreference: 'high-performance', featureLevel }));
  } catch (error) {
    return { why: String(error?.message ?? error) };
  }
  if (adapter) answerNext(gpu, adapter);
  return { isFound: Boolean(adapter) };
}

/** Lets the next `requestAdapter` give `adapter`; where a page has made that impossible, the next call asks again. */
function answerNext(gpu, adapter) {
  const own = Object.getOwnPropertyDescriptor(gpu, 'requestAdapter');
  const value = async () => {
    if (own) Object.defineProperty(gpu, 'requestAdapter', own);
    else delete gpu.requestAdapter;
    return adapter;
  };
  Reflect.defineProperty(gpu, 'requestAdapter', { value, configurable: true, writable: true });
}
