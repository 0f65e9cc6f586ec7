import { WasmModel } from 'webgguf';

/**
 * Gives a function that calls another one with the model of `source`. The first call loads it in a worker, and `status`
 * shows how far that is; `options` are further ones of `WasmModel.load`. After a load that failed, or where the GPU or
 * the worker was lost, the next call loads again.
 */
export function modelOf(source, status, options = {}) {
  let loading;
  const onProgress = ({ stage, fraction = 0 }) => {
    status.textContent = `${stage} ${Math.round(fraction * 100)} %`;
  };
  return async (use) => {
    loading ??= WasmModel.load(source, { worker: true, onProgress, ...options });
    const model = await loading.catch((failure) => {
      loading = undefined;
      throw failure;
    });
    try {
      return await use(model);
    } catch (failure) {
      if (['device_lost', 'worker_lost'].includes(failure.code)) {
        loading = undefined;
        await model.free(); // before there is another one
      }
      throw failure;
    }
  };
}
