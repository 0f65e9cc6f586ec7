// Measures from outside the package: counts WebGPU calls by wrapping the browser's prototypes, leaves single kernels
// out, records how long the page was blocked, and measures how fast the GPU reads memory.

/** Replaces a method of a WebGPU class; returns how to put the old one back. */
function wrap(owner, name, make) {
  const prototype = globalThis[owner]?.prototype;
  const original = prototype?.[name];
  if (!original) return () => {};
  prototype[name] = make(original);
  return () => {
    prototype[name] = original;
  };
}

/**
 * Counts what is made on any device: buffers, bind groups, pipelines and so on, by method name. Command encoders are
 * left out: every submit needs one. Costs nothing while nothing is made, so it may stay on while the clock runs.
 */
export function watchCreated() {
  const counts = {};
  const names = Object.getOwnPropertyNames(globalThis.GPUDevice?.prototype ?? {}).filter(
    (name) => name.startsWith('create') && name !== 'createCommandEncoder',
  );
  const undo = names.map((name) =>
    wrap(
      'GPUDevice',
      name,
      (original) =>
        function (...args) {
          counts[name] = (counts[name] ?? 0) + 1;
          return original.apply(this, args);
        },
    ),
  );
  return { counts, stop: () => undo.splice(0).forEach((put) => put()) };
}

const MAP_READ = 1;

/**
 * Counts calls of passes, queues and mappings. Each wrapper costs a little, so no speed is measured meanwhile, except
 * against another run that is watched too.
 * @param {string} [leaveOut] a kernel's key (label and grid): its dispatches are not made
 */
export function watchCalls(leaveOut) {
  const counts = { dispatches: 0, passes: 0, submits: 0, write_buffers: 0, maps: 0, read_back_bytes: 0 };
  const kernels = new Map();
  const labels = new WeakMap();
  const flying = { now: 0, most: 0 };
  let label = '';

  const countAs = (name) => (original) =>
    function (...args) {
      counts[name] += 1;
      return original.apply(this, args);
    };
  const setPipeline = (original) =>
    function (pipeline) {
      if (!labels.has(pipeline)) labels.set(pipeline, pipeline.label || 'no name');
      label = labels.get(pipeline);
      return original.call(this, pipeline);
    };
  const dispatch = (original) =>
    function (x, y = 1, z = 1) {
      const key = `${label} ${x}×${y}×${z}`;
      counts.dispatches += 1;
      kernels.set(key, (kernels.get(key) ?? 0) + 1);
      if (key !== leaveOut) original.call(this, x, y, z);
    };
  const mapAsync = (original) =>
    function (mode, offset = 0, size = this.size - offset) {
      const mapped = original.call(this, mode, offset, size);
      if (!(mode & MAP_READ)) return mapped;
      counts.maps += 1;
      counts.read_back_bytes += size;
      flying.most = Math.max(flying.most, ++flying.now);
      const landed = () => {
        flying.now -= 1;
      };
      mapped.then(landed, landed);
      return mapped;
    };
  const undo = [
    wrap('GPUComputePassEncoder', 'setPipeline', setPipeline),
    wrap('GPUComputePassEncoder', 'dispatchWorkgroups', dispatch),
    wrap('GPUComputePassEncoder', 'dispatchWorkgroupsIndirect', countAs('dispatches')),
    wrap('GPUCommandEncoder', 'beginComputePass', countAs('passes')),
    wrap('GPUQueue', 'submit', countAs('submits')),
    wrap('GPUQueue', 'writeBuffer', countAs('write_buffers')),
    wrap('GPUBuffer', 'mapAsync', mapAsync),
  ];
  return { counts, kernels, flying, stop: () => undo.forEach((put) => put()) };
}

const TICK_MS = 10;

/**
 * Records how long the main thread was blocked: the browser's own long tasks (50 ms and more, where it tells them),
 * and the gaps of a timer, which also see garbage collection and a busy machine.
 */
export function watchBlocks() {
  const tasks = [];
  const gaps = [];
  const knowsTasks = globalThis.PerformanceObserver?.supportedEntryTypes?.includes('longtask') ?? false;
  const note = (entries) => tasks.push(...entries.map(({ startTime, duration }) => [startTime, duration]));
  const observer = knowsTasks ? new PerformanceObserver((list) => note(list.getEntries())) : undefined;
  observer?.observe({ type: 'longtask' });
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (!document.hidden) gaps.push([last, now - last - TICK_MS]);
    last = now;
  }, TICK_MS);
  const within = (list, from, to) => list.filter(([start, ms]) => start + ms > from && start < to).map(([, ms]) => ms);
  return {
    /** The longest of both kinds between two times of `performance.now()`, in milliseconds; how many long tasks. */
    between(from, to) {
      if (observer) note(observer.takeRecords());
      const [long, late] = [tasks, gaps].map((list) => within(list, from, to));
      const [longtask_ms, timer_gap_ms] = [long, late].map((list) => list.reduce((most, ms) => Math.max(most, ms), 0));
      return knowsTasks
        ? { longtask_ms, longtasks: long.length, timer_gap_ms }
        : { longtask_ms: null, longtasks: null, timer_gap_ms };
    },
    stop() {
      observer?.disconnect();
      clearInterval(timer);
    },
  };
}

// ---- read bandwidth -------------------------------------------------------------------------------------------------

const PROBE_BYTES = 256 * 2 ** 20;
const PROBE_GROUPS = 4096;
const PROBE_MS = 60;
const PROBE_REPEATS = 5;
const PROBE_WGSL = `
@group(0) @binding(0) var<storage, read_write> data: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
const STRIDE = ${PROBE_GROUPS}u * 256u;

@compute @workgroup_size(256) fn fill(@builtin(global_invocation_id) id: vec3<u32>) {
  for (var i = id.x; i < arrayLength(&data); i += STRIDE) { data[i] = vec4(i, i * 7u, i * 31u, ~i) * 2654435761u; }
}

// The sum is written where it can never be predicted, so that no compiler leaves the reads out.
@compute @workgroup_size(256) fn read(@builtin(global_invocation_id) id: vec3<u32>) {
  var sum = vec4<u32>();
  for (var i = id.x; i < arrayLength(&data); i += STRIDE) { sum ^= data[i]; }
  if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 12345u) { sums[id.x & 63u] = sum.x; }
}`;

/**
 * Bytes per second that a plain kernel reads from GPU memory: `{bytes_per_second, buffer_bytes}`, or `{skipped}` with
 * the reason. The time of one read is the difference between many and twice as many, so launch and wait cancel out.
 */
export async function readBandwidth() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) return { skipped: 'no WebGPU adapter' };
  const { architecture, isFallbackAdapter } = adapter.info ?? {};
  if (isFallbackAdapter || architecture === 'swiftshader') return { skipped: 'software adapter' };
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const bytes = Math.floor(Math.min(PROBE_BYTES, maxBufferSize, maxStorageBufferBindingSize) / 16) * 16;
  const requiredLimits = { maxBufferSize, maxStorageBufferBindingSize };
  const device = await adapter.requestDevice({ requiredLimits });
  try {
    // A kernel that failed would do nothing, and would look fast.
    for (const kind of ['validation', 'out-of-memory']) device.pushErrorScope(kind);
    const secondsOf = makeProbe(device, bytes);
    for (const error of [await device.popErrorScope(), await device.popErrorScope()]) if (error) throw error;
    return { bytes_per_second: bytes / (await secondsPerRead(secondsOf)), buffer_bytes: bytes };
  } catch (error) {
    return { skipped: error.message };
  } finally {
    device.destroy();
  }
}

/** Fills the buffer and returns a function that reads it some times and tells the seconds. */
function makeProbe(device, bytes) {
  const module = device.createShaderModule({ code: PROBE_WGSL });
  const buffers = [bytes, 256].map((size) => device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }));
  const type = { visibility: GPUShaderStage.COMPUTE, buffer: { type: 'storage' } };
  const types = buffers.map((_, binding) => ({ binding, ...type }));
  const group = device.createBindGroupLayout({ entries: types });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [group] });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const bound = device.createBindGroup({ layout: group, entries });
  const pipelines = Object.fromEntries(
    ['fill', 'read'].map((entryPoint) => [
      entryPoint,
      device.createComputePipeline({ layout, compute: { module, entryPoint } }),
    ]),
  );
  const run = async (name, repeats) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipelines[name]);
    pass.setBindGroup(0, bound);
    for (let i = 0; i < repeats; i++) pass.dispatchWorkgroups(PROBE_GROUPS);
    pass.end();
    const begun = performance.now();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    return (performance.now() - begun) / 1000;
  };
  const filled = run('fill', 1);
  return async (repeats) => {
    await filled;
    return run('read', repeats);
  };
}

async function secondsPerRead(secondsOf) {
  await secondsOf(1);
  let repeats = 4;
  while (repeats < 4096 && (await secondsOf(repeats)) < PROBE_MS / 1000) repeats *= 2;
  const differences = [];
  for (let i = 0; i < PROBE_REPEATS; i++) {
    const once = await secondsOf(repeats);
    differences.push(((await secondsOf(2 * repeats)) - once) / repeats);
  }
  const middle = differences.sort((a, b) => a - b)[Math.floor(PROBE_REPEATS / 2)];
  if (middle > 0) return middle;
  throw new Error('the clock is too coarse for this adapter');
}
