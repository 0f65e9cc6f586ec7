import { WasmModel } from 'webgguf';

/** Loads a model in a worker, and shows in `status` how far it is. */
export function loadModel(source, status) {
  const onProgress = ({ stage, fraction = 0 }) => {
    status.textContent = `${stage} ${Math.round(fraction * 100)} %`;
  };
  return WasmModel.load(source, { worker: true, onProgress });
}
