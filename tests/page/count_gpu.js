// For pages: counts what WebGPU has given and not taken back. `addInitScript(countGpu)` or `evaluate(countGpu)`.

/** Keeps `live`: bytes, buffers and devices there are now, and `most`, the most bytes at once since that was set. */
export const countGpu = () => {
  globalThis.live = { bytes: 0, buffers: 0, devices: 0 };
  globalThis.most = 0;
  const { live } = globalThis;
  const { requestDevice } = GPUAdapter.prototype;
  const { createBuffer, destroy } = GPUDevice.prototype;
  const freed = new WeakSet();
  const count = (thing, sign, size) => {
    if (sign < 0 && freed.has(thing)) return;
    if (sign < 0) freed.add(thing);
    if (size === undefined) live.devices += sign;
    else Object.assign(live, { bytes: live.bytes + sign * size, buffers: live.buffers + sign });
    globalThis.most = Math.max(globalThis.most, live.bytes);
  };
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await requestDevice.apply(this, args);
    count(device, 1);
    return device;
  };
  GPUDevice.prototype.createBuffer = function (descriptor) {
    const buffer = createBuffer.call(this, descriptor);
    count(buffer, 1, buffer.size);
    return buffer;
  };
  GPUDevice.prototype.destroy = function () {
    count(this, -1);
    return destroy.call(this);
  };
  const destroyBuffer = GPUBuffer.prototype.destroy;
  GPUBuffer.prototype.destroy = function () {
    count(this, -1, this.size);
    return destroyBuffer.call(this);
  };
};
