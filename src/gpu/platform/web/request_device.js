// wgpu's web backend knows no `subgroups`, so a device requested through it never has the feature, even where the
// adapter offers it (gfx-rs/wgpu issue 10146; pull request 10220 adds the mapping). For one call of
// `GPUAdapter.requestDevice` this adds the features in `wanted` that the adapter has, and notes what the adapter is.
// Delete this file once a wgpu release maps the feature.

/**
 * Arms the next `requestDevice`. Returns an object that the call fills in: `features` that the device has, and the
 * adapter's `vendor`, `architecture`, `device`, `description`, `subgroupMinSize`, `subgroupMaxSize`, its
 * `subgroupMatrices` as text (`f16 f32 16x16x16`: factors, sums, M×N×K), and whether it is `software`: a program on the
 * CPU that acts as a GPU.
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
    const device = await original.call(this, { ...descriptor, requiredFeatures: [...asked, ...added] });
    const info = this.info ?? {};
    for (const key of ['vendor', 'architecture', 'device', 'description']) facts[key] = String(info[key] ?? '');
    facts.subgroupMinSize = Number(info.subgroupMinSize ?? 0);
    facts.subgroupMaxSize = Number(info.subgroupMaxSize ?? 0);
    const matrices = [...(info.subgroupMatrixConfigs ?? [])];
    facts.subgroupMatrices = matrices.map((m) => `${m.componentType} ${m.resultComponentType} ${m.M}x${m.N}x${m.K}`);
    facts.software = Boolean(info.isFallbackAdapter) || facts.architecture === 'swiftshader';
    facts.features = [...device.features];
    return device;
  };
  return facts;
}

/**
 * Makes the next `requestAdapter` ask for an adapter that has no more than WebGPU's compatibility mode, as devices with
 * OpenGL ES alone have it. wgpu cannot ask for that.
 */
export function armCompatibility() {
  const prototype = globalThis.GPU?.prototype;
  if (!prototype) return;
  const original = prototype.requestAdapter;
  prototype.requestAdapter = function (options = {}) {
    prototype.requestAdapter = original;
    return original.call(this, { ...options, featureLevel: 'compatibility' });
  };
}
