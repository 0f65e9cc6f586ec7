/**
 * What all operations on tensors are made of: one call into WebAssembly, with its inputs checked.
 */
import type { DType } from './dtypes.js';
import { guarded, invalidArgument } from '../errors.js';
import { objectOf, show } from '../check.js';
import { knowItself, original } from '../proxies.js';
import { Tensor } from './tensor.js';
import type { TensorEngine } from '../wasm/webgguf.js';

/** Inputs by their names in messages, in the order of Rust; one whose name ends in `?` may be missing. @internal */
export type Inputs = Record<string, Tensor | undefined>;

/** What else makes a call. @internal */
export interface Extra {
  /** Names of options that are tensors, and inputs after the others. */
  tensors?: readonly string[];
  /** Options that the method sets. */
  fixed?: object;
}

/** The base of `Gpu`: its files add operations, group by group. */
export abstract class GpuCore {
  /** @internal */
  readonly engine: TensorEngine;
  readonly #scopes: Set<Tensor>[] = [];

  /** @internal */
  constructor(engine: TensorEngine) {
    if (!engine) throw invalidArgument('new Gpu: a Gpu is made by await Gpu.create()');
    knowItself(this);
    this.engine = engine;
  }

  /**
   * Frees every tensor that `work` makes, but for those it returns. `work` must not be async: read the results after.
   *
   * @param work makes tensors; it may return one, several in an array or an object, or anything else
   * @returns what `work` returned
   * @throws {WebggufError} `invalid_argument` for an async function
   *
   * @example
   * const y = gpu.scope(() => gpu.softmax(gpu.matmul(x, w))); // the product is freed
   */
  scope<T>(work: () => T): T {
    const made = new Set<Tensor>();
    this.#scopes.push(made);
    let result: T | undefined;
    try {
      result = work();
      if (result instanceof Promise) throw invalidArgument('scope: the function must not be async');
      return result;
    } finally {
      this.#scopes.pop();
      const kept = new Set(tensorsIn(result));
      for (const tensor of made) {
        if (kept.has(tensor)) this.#scopes.at(-1)?.add(tensor);
        else tensor.free();
      }
    }
  }

  /** The tensors that Rust made for `op`, called as `call` with the caller's `options`. @internal */
  protected run(call: string, op: string, inputs: Inputs, options: object = {}, extra: Extra = {}): Tensor[] {
    const { tensors = [], fixed } = extra;
    const rest: Record<string, unknown> = { ...objectOf(call, options), ...fixed };
    const list = Object.entries(inputs);
    for (const name of tensors) {
      list.push([name, rest[name] as Tensor | undefined]);
      delete rest[name];
    }
    const ids = list.map(([name, tensor], at) => {
      const isMissing = tensor === undefined && (at >= list.length - tensors.length || name.endsWith('?'));
      return isMissing ? undefined : this.#id(call, name.replace('?', ''), tensor);
    });
    // Rust takes `undefined` for a wrong value.
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
    const handles = guarded(() => this.engine.run(op, ids, given), call);
    return handles.map((handle) => {
      // In place: the result is one of the inputs.
      const input = list[ids.indexOf(handle.id)]?.[1];
      return input ?? this.keep(new Tensor(this, handle));
    });
  }

  /** The one tensor of most operations. @internal */
  protected one<D extends DType>(call: string, op: string, inputs: Inputs, options?: object, extra?: Extra): Tensor<D> {
    return this.run(call, op, inputs, options, extra)[0] as Tensor<D>;
  }

  /** Notes a new tensor for the scope it is made in. @internal */
  protected keep<D extends DType>(tensor: Tensor<D>): Tensor<D> {
    this.#scopes.at(-1)?.add(tensor);
    return tensor;
  }

  #id(call: string, name: string, tensor: unknown): number {
    if (tensor instanceof Tensor) return tensor.idFor(call, name, this);
    throw invalidArgument(`${call}: ${name} must be a tensor, found ${show(tensor)}`);
  }
}

/** A tensor, or those in an array or in the fields of an object. @internal */
export function tensorsIn(value: unknown): Tensor[] {
  if (value instanceof Tensor) return [original(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value)
    .filter((item) => item instanceof Tensor)
    .map(original);
}
