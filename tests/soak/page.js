// What a page of the soak test does: loads and writes while the device is lost, workers end, storage is full and
// requests are cancelled. For `addInitScript`: it runs before any script of the page.

/** Takes note of what the page opens, so that it can be taken away. */
export function watch() {
  const devices = [];
  const workers = [];
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await requestDevice.apply(this, args);
    devices.push(new WeakRef(device));
    return device;
  };
  // No browser tells that a worker has ended: one that has its lock is missed, one that only begins is waited for.
  globalThis.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      let messages = 0;
      this.addEventListener('message', () => {
        messages += 1;
        if (messages === 2) workers.push(new WeakRef(this));
      });
    }
  };
  let isFull = false;
  for (const name of ['FileSystemWritableFileStream', 'FileSystemSyncAccessHandle']) {
    const prototype = globalThis[name]?.prototype;
    if (!prototype) continue;
    const { write } = prototype;
    prototype.write = function (...args) {
      if (isFull) throw new DOMException('no room on this disk', 'QuotaExceededError');
      return write.apply(this, args);
    };
  }
  const last = (list) => list.at(-1)?.deref();
  globalThis.faults = {
    loseDevice: () => last(devices)?.destroy(),
    endWorker: () => last(workers)?.terminate(),
    fill: (full) => (isFull = full),
  };
}

/**
 * One request from its load to its end: `{ ids }`, or what it ended with. `plan` has the model, options of `load`, what
 * goes wrong and after how many milliseconds.
 */
export async function request({ url, sha256, options, fault, after }) {
  const { DownloadControl, WasmModel } = await import('/dist/index.js');
  const abort = new AbortController();
  const download = new DownloadControl();
  const { loseDevice, endWorker, fill } = globalThis.faults;
  const pause = () => {
    download.pause();
    setTimeout(() => download.resume(), after);
  };
  const full = () => fill(true);
  const act = { device: loseDevice, worker: endWorker, full, abort: () => abort.abort(), pause }[fault];
  const timer = act && setTimeout(act, after);
  let model;
  try {
    const common = { retries: 3, stallTimeout: 1500, onWarning: () => {}, signal: abort.signal, download };
    model = await WasmModel.load(url, { ...common, sha256, ...options });
    const greedy = { temperature: 0, ignoreEos: true, maxTokens: 24, signal: abort.signal };
    const { ids, finishReason } = await model.generate([5, 6, 7, 8], greedy).result;
    return { ids: [...ids], finishReason };
  } catch (error) {
    return { name: error?.name, code: error?.code, message: String(error?.message ?? error) };
  } finally {
    clearTimeout(timer);
    fill(false);
    await model?.free();
  }
}

/** The models that the origin has stored. */
export async function stored() {
  const { cache } = await import('/dist/index.js');
  return cache.list();
}
