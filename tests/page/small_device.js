// Cuts the WebGPU of a page down to what every device has: the default limits of the specification, and no optional
// feature but those that it is called with. For `addInitScript`.

/** @param {string[]} [features] that stay */
export function cutDown(features = []) {
  // https://www.w3.org/TR/webgpu/#limits: those that a compute pass can meet.
  const limits = {
    maxStorageBufferBindingSize: 128 << 20,
    maxBufferSize: 256 << 20,
    maxUniformBufferBindingSize: 65536,
    maxStorageBuffersPerShaderStage: 8,
    maxUniformBuffersPerShaderStage: 12,
    maxBindingsPerBindGroup: 1000,
    maxBindGroups: 4,
    minStorageBufferOffsetAlignment: 256,
    minUniformBufferOffsetAlignment: 256,
    maxComputeWorkgroupStorageSize: 16384,
    maxComputeInvocationsPerWorkgroup: 256,
    maxComputeWorkgroupSizeX: 256,
    maxComputeWorkgroupSizeY: 256,
    maxComputeWorkgroupSizeZ: 64,
    maxComputeWorkgroupsPerDimension: 65535,
  };
  for (const [name, value] of Object.entries(limits))
    Object.defineProperty(GPUSupportedLimits.prototype, name, { get: () => value });
  const kept = new Set(['core-features-and-limits', ...features]);
  const all = GPUSupportedFeatures.prototype;
  const { has } = all;
  const ofDevice = (set) => [...kept].filter((name) => has.call(set, name));
  all.has = function (name) {
    return kept.has(name) && has.call(this, name);
  };
  for (const name of ['values', 'keys', Symbol.iterator])
    all[name] = function () {
      return ofDevice(this).values();
    };
  all.entries = function () {
    return new Set(ofDevice(this)).entries();
  };
  all.forEach = function (each) {
    for (const name of ofDevice(this)) each(name, name, this);
  };
  Object.defineProperty(all, 'size', {
    get() {
      return ofDevice(this).length;
    },
  });
  // What a page did not ask for, a device has not: so a device is never made with more than the adapter shows.
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = function (descriptor = {}) {
    const wanted = [...(descriptor.requiredFeatures ?? [])].filter((name) => !kept.has(name));
    if (wanted.length > 0) throw new TypeError(`features that a small device has not: ${wanted}`);
    for (const [name, value] of Object.entries(descriptor.requiredLimits ?? {}))
      if (name in limits && (name.startsWith('min') ? value < limits[name] : value > limits[name]))
        throw new DOMException(`${name}: ${value}, a small device has ${limits[name]}`, 'OperationError');
    globalThis.smallDevices = (globalThis.smallDevices ?? 0) + 1;
    return requestDevice.call(this, descriptor);
  };
}
