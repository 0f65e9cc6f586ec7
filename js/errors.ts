/**
 * The one error class and its closed set of codes, and the way other exceptions become it.
 */

/**
 * What went wrong, in the words a page can act on.
 *
 * | code | meaning |
 * |---|---|
 * | `webgpu_unavailable` | no WebGPU in this browser, or no adapter; try `backend: 'cpu'` |
 * | `feature_missing` | no WebAssembly, workers or SIMD for this page: the message says which |
 * | `limit_exceeded` | something is larger than the device's limits |
 * | `out_of_memory` | an allocation failed, on the GPU or in WebAssembly |
 * | `device_lost` | the GPU device was lost, and the model was not loaded again: the message says why |
 * | `worker_lost` | the worker with the model ended: a crash, or no memory; load the model again |
 * | `engine_moved` | the tab with the engine that tabs share was closed or stood still; ask again |
 * | `microphone_unavailable` | there is no microphone, it was refused, or another program has it |
 * | `download_failed` | the source could not be read: HTTP status, network cut, short read |
 * | `integrity_failed` | the bytes are not the promised ones |
 * | `bad_file` | not a GGUF file, or one that contradicts itself |
 * | `unsupported_quant` | a tensor type that webgguf does not know |
 * | `unsupported_architecture` | an architecture or tokenizer that webgguf does not know |
 * | `context_full` | the prompt does not fit the context |
 * | `invalid_argument` | an option or argument is wrong, or the call came at the wrong time |
 * | `internal` | webgguf itself failed; the message says how, and it is worth a bug report |
 *
 * Cancelling is no error of this kind: it rejects with the signal's reason, by default a `DOMException` named
 * `AbortError`.
 */
export type ErrorCode =
  | 'webgpu_unavailable'
  | 'feature_missing'
  | 'limit_exceeded'
  | 'out_of_memory'
  | 'device_lost'
  | 'worker_lost'
  | 'engine_moved'
  | 'microphone_unavailable'
  | 'download_failed'
  | 'integrity_failed'
  | 'bad_file'
  | 'unsupported_quant'
  | 'unsupported_architecture'
  | 'context_full'
  | 'invalid_argument'
  | 'internal';

/** Keys, so that the compiler misses none. */
const CODES: Record<ErrorCode, true> = {
  webgpu_unavailable: true,
  feature_missing: true,
  limit_exceeded: true,
  out_of_memory: true,
  device_lost: true,
  worker_lost: true,
  engine_moved: true,
  microphone_unavailable: true,
  download_failed: true,
  integrity_failed: true,
  bad_file: true,
  unsupported_quant: true,
  unsupported_architecture: true,
  context_full: true,
  invalid_argument: true,
  internal: true,
};

/** Every failure of webgguf. Act on `code`, show `message`. */
export class WebggufError extends Error {
  /** `WebggufError`. */
  override readonly name = 'WebggufError';
  /** One of the closed set of codes. */
  readonly code: ErrorCode;

  /**
   * @param code one of the closed set
   * @param message for people: lower case, names the thing and both numbers
   * @param options `cause`: the exception behind this one
   */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Shorthand for the most frequent code. @internal */
export function invalidArgument(message: string): WebggufError {
  return new WebggufError('invalid_argument', message);
}

/** Whether `error` says that the call was cancelled. @internal */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/**
 * Turns whatever came out of WebAssembly into what the caller is promised: a `WebggufError` or an `AbortError`.
 * An exception that the caller's own callback threw passes through unchanged.
 * @internal
 */
export function fromWasm(error: unknown): unknown {
  if (error instanceof WebggufError || isAbort(error)) return error;
  if (error instanceof WebAssembly.RuntimeError) return fromTrap(error);
  if (!(error instanceof Error)) return error;
  const code: unknown = (error as { code?: unknown }).code;
  if (code === 'aborted') return new DOMException(error.message, 'AbortError');
  if (typeof code !== 'string' || !Object.hasOwn(CODES, code)) return error;
  return new WebggufError(code as ErrorCode, error.message, { cause: error });
}

/** A WebAssembly trap never reaches a user as a bare `unreachable`. */
function fromTrap(error: WebAssembly.RuntimeError): WebggufError {
  const message = `WebAssembly stopped (${error.message}); the console has the reason, reload the page to go on`;
  return new WebggufError('internal', message, { cause: error });
}

/** Runs `call` and translates what it throws; `name` is what a page calls the operation. @internal */
export function guarded<T>(call: () => T, name?: string): T {
  try {
    return call();
  } catch (error) {
    const { code, message } = error as WebggufError;
    if (!name || !/^(invalid_argument|limit_exceeded)$/.test(code)) throw fromWasm(error);
    throw new WebggufError(code, message.replace(/^(\w+: )?/, `${name}: `), { cause: error });
  }
}

/** As {@link guarded}, for what is awaited. @internal */
export async function translated<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw fromWasm(error);
  }
}
