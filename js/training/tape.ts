/**
 * What was computed while gradients are recorded, in order.
 */
import { invalidArgument } from '../errors.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import type { Gpu } from '../compute/index.js';
import type { Variable } from './variable.js';

/** The operations that rules compute gradients with: {@link RecordingGpu}, of which rules need no more. */
export interface RuleGpu extends Gpu {
  noGrad<T>(work: () => T): T;
  /** @internal */
  replay(work: () => Tensor, leaves: Record<string, Tensor>, dy: Tensor): Record<string, Tensor>;
  /** @internal */
  filled(shape: readonly number[], number: number): FloatTensor;
  /** @internal */
  custom(
    call: string,
    inputs: Readonly<Record<string, Tensor | undefined>>,
    work: () => Tensor | [y: Tensor, ...forRule: Tensor[]],
    rule: Rule,
  ): FloatTensor;
}

/** Gradients by the names of inputs, f32; of another shape where the input was broadcast. A function is called last. */
export type Given = Readonly<Record<string, Tensor | (() => Tensor) | undefined>>;

/** Computes the gradients of a call's inputs from the gradients of its results, of which at least one is given. */
export type Backward = (...dy: Tensor[]) => Given;

/** A call, as the rule for its operation sees it. */
export interface Call {
  readonly gpu: RuleGpu;
  /** Inputs and options that are tensors, by name. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** Options that are no tensors. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly outputs: readonly Tensor[];
  /** Whether the input's gradient is wanted. */
  wants(name: string): boolean;
  /** Keeps a tensor until the backward pass is past this call. */
  save(tensor: Tensor): Tensor;
}

/** Says what a call's backward pass is; what it needs it saves. */
export type Rule = (call: Call) => Backward;

/** A call that is differentiated. */
export interface Entry {
  readonly call: string;
  /** Inputs whose gradients are wanted. */
  readonly inputs: readonly Place[];
  /** Results by number. */
  readonly outputs: readonly number[];
  readonly backward: Backward;
  readonly saved: readonly Tensor[];
}

/** A value of a tape under the name that a call has for it. */
export interface Place {
  readonly name: string;
  readonly value: number;
}

/** Values by number, and the calls that made them. */
export class Tape {
  readonly entries: Entry[] = [];
  /** Calls that let no gradient through, with their inputs. */
  readonly stops: { call: string; value: number }[] = [];
  /** Tensors of the tape around this one that were used here. */
  readonly imports = new Set<Tensor>();
  readonly shapes: (readonly number[])[] = [];
  /** On the tape of variables: the variables that were used, by their values. */
  readonly variables: Map<number, Variable> | undefined;
  readonly #values = new WeakMap<Tensor, number>();
  readonly #around: Tape | undefined;
  readonly #known: WeakSet<Tensor> | undefined;

  /**
   * @param around the tape whose values can be used here
   * @param known variables: each gets a number when it is used
   */
  constructor(around?: Tape, known?: WeakSet<Tensor>) {
    this.#around = around;
    this.#known = known;
    this.variables = known && new Map();
  }

  /** Gives a tensor a number. */
  add(tensor: Tensor): number {
    const value = this.shapes.push(tensor.shape) - 1;
    this.#values.set(tensor, value);
    return value;
  }

  /** The number of a tensor, if the gradient depends on it. */
  valueOf(tensor: Tensor): number | undefined {
    const own = this.#values.get(tensor);
    if (own === undefined && this.#known?.has(tensor)) {
      const value = this.add(tensor);
      this.variables?.set(value, tensor as Variable);
      return value;
    }
    if (own !== undefined || this.#around?.valueOf(tensor) === undefined) return own;
    this.imports.add(tensor);
    return this.add(tensor);
  }

  /** The inputs of a call that a gradient depends on. */
  placesOf(inputs: Readonly<Record<string, Tensor>>): Place[] {
    return Object.entries(inputs).flatMap(([name, tensor]) => {
      const value = this.valueOf(tensor);
      return value === undefined ? [] : [{ name, value }];
    });
  }

  /** The call that stands between a value and everything else, if there is one. */
  stopBehind(value: number): string | undefined {
    const reached = new Set([value]);
    for (const { inputs, outputs } of this.entries) {
      if (inputs.some((input) => reached.has(input.value))) for (const output of outputs) reached.add(output);
    }
    return this.stops.find((stop) => reached.has(stop.value))?.call;
  }

  /** Frees what was kept for the calls from number `start` on. */
  release(start = 0): void {
    for (const { saved } of this.entries.splice(start)) for (const tensor of saved) tensor.free();
  }
}

/** The error for a gradient with respect to a value that the result does not depend on. */
export function independent(what: string, stop: string | undefined): Error {
  if (stop) return invalidArgument(`${what}: the result depends on it only through ${stop}, which has no gradient`);
  return invalidArgument(`${what}: the result does not depend on the inputs`);
}
