/**
 * What a page should know though its model works: that the file is not kept, or that the GPU was lost.
 */

/** What went wrong without being an error: the model works all the same. */
export interface LoadWarning {
  /**
   * `cache_full`: the browser gives the origin no more space; `cache_unavailable`: no private file system here
   * (private windows, pages that are not `https:`, Safari before 26), or it failed; `device_lost`: the GPU device was
   * lost, and the model is being loaded again, perhaps in the middle of a text; `self_check`: kernels compute wrong
   * values on this device, see `info.selfCheck`; `cpu`: the model runs on the CPU, though `backend` is `auto`, see
   * `info.backendReason`; `file`: the file lacks or asks for something, so that answers may be worse than elsewhere;
   * `schema`: an answer or the arguments of a tool need not follow a part of their JSON Schema; `tools`: calls of tools
   * are not read, see `info.tools`, or one of them is not valid and stays text.
   */
  readonly code:
    | 'cache_full'
    | 'cache_unavailable'
    | 'device_lost'
    | 'self_check'
    | 'cpu'
    | 'file'
    | 'schema'
    | 'tools';
  /** For people: names the file or the device, and the reason. */
  readonly message: string;
}

/** What the browser's exception of a write or a read amounts to. @internal */
export function warningOf(name: string, error: unknown): LoadWarning {
  const { name: kind, message } = error as Partial<Error>;
  const code = kind === 'QuotaExceededError' ? 'cache_full' : 'cache_unavailable';
  return { code, message: `${name} is not kept: ${message || kind || String(error)}` };
}

/** What the console was told: a page that loads ten models hears of each kind once, and of each fault of a file. */
const told = new Set<string>();

/** Tells the page's own listener of each warning, or else the console of each kind once. @internal */
export function warner(onWarning: ((warning: LoadWarning) => void) | undefined): (warning: LoadWarning) => void {
  return (warning) => {
    if (onWarning) {
      onWarning(warning);
      return;
    }
    const kind = warning.code === 'file' ? warning.message : warning.code;
    if (told.has(kind)) return;
    told.add(kind);
    console.warn(`webgguf: ${warning.message}`);
  };
}
