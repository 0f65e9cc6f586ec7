/**
 * Failures as the Prompt API has them: exceptions of the DOM.
 */
import { type ErrorCode, WebggufError } from '../errors.js';

/** Names of exceptions for codes; `UnknownError` for all others. */
const NAMES: Partial<Record<ErrorCode, string>> = {
  webgpu_unavailable: 'NotSupportedError',
  feature_missing: 'NotSupportedError',
  limit_exceeded: 'NotSupportedError',
  unsupported_quant: 'NotSupportedError',
  unsupported_architecture: 'NotSupportedError',
  invalid_argument: 'NotSupportedError',
  download_failed: 'NetworkError',
  integrity_failed: 'NetworkError',
  out_of_memory: 'OperationError',
  device_lost: 'OperationError',
  worker_lost: 'OperationError',
  engine_moved: 'OperationError',
  bad_file: 'OperationError',
};

/** @internal */
export function notSupported(message: string): DOMException {
  return new DOMException(message, 'NotSupportedError');
}

/** What a page gets for an error of webgguf, which is its `cause`; others stay as they are. @internal */
export function fromWebgguf(error: unknown): unknown {
  if (!(error instanceof WebggufError)) return error;
  return withCause(new DOMException(error.message, NAMES[error.code] ?? 'UnknownError'), error);
}

function withCause(exception: DOMException, cause: unknown): DOMException {
  return Object.defineProperty(exception, 'cause', { value: cause, configurable: true, writable: true });
}

type QuotaExceeded = new (message: string, options: { requested: number; quota: number }) => DOMException;

/** Browsers have had a class of that name since 2025; before, it was a name of `DOMException`. */
class OlderQuotaExceededError extends DOMException {
  readonly requested: number;
  readonly quota: number;

  constructor(message: string, { requested, quota }: { requested: number; quota: number }) {
    super(message, 'QuotaExceededError');
    this.requested = requested;
    this.quota = quota;
  }
}

/** Both in tokens. @internal */
export function quotaExceeded(requested: number, quota: number): DOMException {
  const { QuotaExceededError = OlderQuotaExceededError } = globalThis as { QuotaExceededError?: QuotaExceeded };
  return new QuotaExceededError(`${requested} tokens do not fit a context of ${quota}`, { requested, quota });
}
