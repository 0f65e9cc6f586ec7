/**
 * Reverse-mode differentiation: calls of operations are recorded, and their rules applied from the last to the first.
 */
import { invalidArgument } from '../errors.js';
import type { ShaderOptions, Work } from '../compute/dispatch.js';
import { Gpu as ComputeGpu } from '../compute/index.js';
import type { Leaf as Operand } from '../compute/region-code.js';
import type { Shader } from '../compute/shaders.js';
import type { Expression } from '../tensor/expression.js';
import type { Extra, Inputs } from '../tensor/gpu-core.js';
import { show } from '../check.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import type { TensorEngine } from '../wasm/webgguf.js';
import { backwardOn } from './backward.js';
import { Holds } from './holds.js';
import { Loss, lossOf } from './loss.js';
import { evaluate } from './regions.js';
import { ruleFor } from './rules.js';
import { independent, type Rule, Tape } from './tape.js';
import {
  type Gradients,
  type Leaf,
  type TensorTree,
  type ValueAndGradients,
  checkFloats,
  leavesOf,
  rebuilt,
} from './tree.js';
import { Variable } from './variable.js';

/** Operations that write into their first input. */
const WRITING = new Set(['kvWrite']);

/** `Gpu` with gradients. */
export class RecordingGpu extends ComputeGpu {
  readonly #holds: Holds;
  /** Where calls are recorded: null is nowhere; undefined: calls with variables on a tape of their own. */
  #tape: Tape | null | undefined;
  readonly #variables = new WeakSet<Tensor>();
  /** The tape of variables, as long as a result on it is reachable. */
  #open: WeakRef<Tape> | undefined;

  /** @internal */
  protected constructor(engine: TensorEngine) {
    super(engine);
    this.#holds = new Holds(this);
  }

  /**
   * The gradients of a number with respect to tensors.
   *
   * @param f computes a tensor of one element, such as a loss. It must not be async. It gets `inputs`, but may use them
   *   directly, too. What it makes is freed once the gradients need it no more
   * @param inputs tensors of f32, f16 or bf16: one, or several in arrays and objects
   * @returns f32 tensors in the form of `inputs`; zeros where the result does not depend on an input
   * @throws {WebggufError} `invalid_argument` where an operation on the way has no gradient
   *
   * @example
   * const { weight } = gpu.grad(() => gpu.mean(gpu.matmul(x, weight)), { weight });
   */
  grad<const T extends TensorTree>(f: (inputs: T) => Tensor, inputs: T): Gradients<T> {
    const { value, gradients } = this.#differentiate('grad', f as (inputs: TensorTree) => Tensor, inputs);
    value.free();
    return gradients as Gradients<T>;
  }

  /**
   * {@link Gpu.grad}, with the number itself.
   *
   * @example
   * const { value, gradients } = gpu.valueAndGrad(() => loss(batch), parameters);
   * optimizer.step(gradients);
   * gpu.freeAll(gradients);
   * console.log(await value.item());
   */
  valueAndGrad<const T extends TensorTree>(f: (inputs: T) => Tensor, inputs: T): ValueAndGradients<T> {
    const made = this.#differentiate('valueAndGrad', f as (inputs: TensorTree) => Tensor, inputs);
    return made as ValueAndGradients<T>;
  }

  /**
   * f(...inputs), of which `grad` keeps nothing but the inputs: what f computes in between is computed again when its
   * gradients are due. Memory then grows with the number of such calls, not with all that happens in them.
   *
   * @param f makes one tensor of `inputs` and of tensors that outlive `grad`, such as parameters. It is called twice,
   *   and must do the same both times
   *
   * @example
   * for (const layer of layers) x = gpu.checkpoint((x) => block(x, layer), x);
   */
  checkpoint(f: (...inputs: Tensor[]) => Tensor, ...inputs: Tensor[]): FloatTensor {
    const around = this.#tapeOf(inputs, true);
    if (!around) return this.scope(() => madeBy(f, inputs)) as FloatTensor;
    const probe = new Tape(around);
    // Other handles of the inputs, so that what f takes from elsewhere is seen apart from them.
    const given = inputs.map((tensor) => {
      const handle = this.keep(this.#holds.share(tensor));
      if (around.valueOf(tensor) !== undefined) probe.add(handle);
      return handle;
    });
    const y = this.#recordedOn(probe, () => this.scope(() => madeBy(f, given)));
    const isKnown = probe.valueOf(y) !== undefined;
    probe.release();
    for (const handle of given) if (handle !== y) handle.free();
    if (!isKnown) return y as FloatTensor;
    const outside = [...probe.imports];
    const all = [...inputs, ...outside];
    const named = Object.fromEntries(all.map((tensor, index) => [`input ${index}`, tensor]));
    const [result] = this.#record(around, 'checkpoint', named, {}, [y], ({ save, wants }) => {
      const kept = inputs.map(save);
      const leaves = Object.fromEntries([...kept, ...outside].map((tensor, index) => [`input ${index}`, tensor]));
      const wanted = Object.fromEntries(Object.entries(leaves).filter(([name]) => wants(name)));
      return (dy) => this.replay(() => f(...kept), wanted, dy as Tensor);
    });
    return result as FloatTensor;
  }

  /**
   * Frees the tensors of a tree: `gpu.free` goes no deeper than the fields of an object.
   */
  freeAll(...trees: TensorTree[]): void {
    for (const tree of trees) for (const { tensor } of leavesOf('freeAll', tree, 'tree')) tensor.free();
  }

  /**
   * Marks a tensor: what is computed from it is remembered until `backward`.
   *
   * @param x f32, f16 or bf16; its memory goes on in the result, and it is freed itself
   * @throws {WebggufError} `invalid_argument` for other types
   *
   * @example
   * const w = gpu.variable(gpu.tensor([1, 2]));
   * gpu.sum(gpu.mul(w, w)).backward();
   * console.log(await w.grad.data()); // 2, 4
   */
  variable(x: Tensor): Variable {
    checkFloats('variable', 'x', x, this);
    const variable = this.#asVariable(x);
    this.#variables.add(variable);
    return variable;
  }

  /**
   * Adds the gradients of a number to `grad` of the variables that it was computed from, and forgets how. TypeScript
   * does not know `backward` of results; this is the same.
   *
   * @param loss a tensor of one element
   * @throws {WebggufError} `invalid_argument` where it was not computed from variables, and a second time
   */
  backward(loss: Tensor): void {
    if (this.#tape !== undefined) throw invalidArgument('backward: within grad or noGrad nothing is remembered');
    const [tape, of] = [this.#open?.deref(), lossOf('backward', loss)];
    const value = tape?.valueOf(of);
    if (!tape?.variables || value === undefined) {
      throw invalidArgument(`backward: ${loss} was not computed from variables, or only before the last backward`);
    }
    this.#open = undefined;
    if (loss instanceof Variable) loss.isLoss = true;
    this.scope(() => {
      const totals = backwardOn(this, this.#holds, tape, value, this.#holds.share(this.filled(loss.shape, 1)));
      for (const [at, total] of totals) {
        this.keep(total);
        const variable = tape.variables?.get(at);
        if (variable?.grad) this.add(variable.grad, total, { inPlace: true });
        else if (variable) variable.grad = this.#holds.share(this.copy(total)) as FloatTensor;
      }
    });
  }

  /** What `work` computes from variables is not remembered. */
  noGrad<T>(work: () => T): T {
    return this.#recordedOn(null, work);
  }

  /** Computes a result again and gives the gradients of `leaves`; for rules. @internal */
  replay(work: () => Tensor, leaves: Record<string, Tensor>, dy: Tensor): Record<string, Tensor> {
    const tape = new Tape();
    const places = Object.entries(leaves).map(([name, tensor]) => [name, tape.valueOf(tensor) ?? tape.add(tensor)]);
    try {
      const y = this.#recordedOn(tape, () => this.scope(work));
      const value = tape.valueOf(y);
      if (value === undefined) return {};
      const totals = backwardOn(this, this.#holds, tape, value, this.#holds.share(dy));
      for (const tensor of totals.values()) this.keep(tensor);
      const found = places.map(([name, at]) => [name, totals.get(at as number)]);
      return Object.fromEntries(found.filter(([, tensor]) => tensor));
    } finally {
      tape.release();
    }
  }

  /** A tensor with the same number everywhere. @internal */
  filled(shape: readonly number[], number: number): FloatTensor {
    return this.scope(() => this.expand(this.tensor([number], []), shape));
  }

  /** The columns of x [rows, columns] as tensors of these widths, side by side. @internal */
  split(x: Tensor, widths: readonly number[]): Tensor[] {
    if (widths.length === 1) return [x];
    let first = 0;
    const parts = this.noGrad(() => {
      return widths.map((width) => {
        first += width;
        return this.narrow(x, 1, first - width, width);
      });
    });
    const around = this.#tapeOf([x]);
    if (!around) return parts;
    const rule: Rule = ({ gpu }) => {
      return (...dy) => ({ x: gpu.concat(dy, { axis: 1 }) });
    };
    return this.#record(around, 'split', { x }, {}, parts, rule);
  }

  /** Runs what is no operation of the engine, with a rule of its own. @internal */
  custom(
    call: string,
    inputs: Inputs,
    work: () => Tensor | [y: Tensor, ...forRule: Tensor[]],
    rule: Rule,
  ): FloatTensor {
    const around = this.#tapeOf(Object.values(inputs));
    return this.scope(() => {
      const [y, ...forRule] = [this.noGrad(() => this.scope(work))].flat() as [Tensor, ...Tensor[]];
      if (!around) return y;
      const given = Object.entries(inputs).filter((input): input is [string, Tensor] => input[1] !== undefined);
      const whole: Rule = (recorded) => rule({ ...recorded, outputs: [...recorded.outputs, ...forRule] });
      return this.#record(around, call, Object.fromEntries(given), {}, [y], whole)[0];
    }) as FloatTensor;
  }

  /** Whether a gradient goes through one of these. @internal */
  protected isRecorded(...tensors: (Tensor | undefined)[]): boolean {
    const tape = this.#tapeOf(tensors);
    return tensors.some((tensor) => tensor && tape?.valueOf(tensor) !== undefined);
  }

  /** Where a call with these inputs is recorded; `isAny`: variables may also come from elsewhere. */
  #tapeOf(inputs: readonly unknown[], isAny = false): Tape | undefined {
    if (this.#tape !== undefined) return this.#tape ?? undefined;
    const open = this.#open?.deref();
    if (open || !(isAny || inputs.some((input) => input instanceof Variable))) return open;
    const made = new Tape(undefined, this.#variables);
    this.#open = new WeakRef(made);
    return made;
  }

  /** @internal */
  protected override run(call: string, op: string, inputs: Inputs, options: object = {}, extra: Extra = {}): Tensor[] {
    const { tensors = [], fixed } = extra;
    const { ...plain }: Record<string, unknown> = { ...options, ...fixed };
    const given: Record<string, Tensor> = {};
    const all = [...Object.entries(inputs), ...tensors.map((name) => [name, plain[name]] as const)];
    const tape = this.#tapeOf(all.map(([, tensor]) => tensor));
    if (!tape) return super.run(call, op, inputs, options, extra);
    for (const [name, tensor] of all) if (tensor instanceof Tensor) given[name.replace('?', '')] = tensor;
    for (const name of tensors) delete plain[name];
    if (plain.inPlace || WRITING.has(op)) this.#checkWrite(tape, call, Object.entries(given)[0]);
    const isRecorded = Object.values(given).some((tensor) => tape.valueOf(tensor) !== undefined);
    const rule = isRecorded ? ruleFor(op, plain) : 'none';
    if (rule === undefined) throw noGradient(call);
    const outputs = super.run(call, op, inputs, options, extra);
    if (typeof rule === 'function') return this.#record(tape, call, given, plain, outputs, rule);
    if (rule === 'stop') {
      for (const { value } of tape.placesOf(given)) tape.stops.push({ call, value });
    }
    return outputs;
  }

  /** A formula that is too large for a rule is recorded in parts, each of which has its own. @internal */
  protected override region(result: Expression, given: readonly Operand[]): FloatTensor {
    if (!this.isRecorded(...given.map(({ tensor }) => tensor))) return super.region(result, given);
    const tensors = Object.fromEntries(given.map(({ expression, tensor }) => [expression.op, tensor]));
    return evaluate(this, result, tensors) as FloatTensor;
  }

  /** What gets here has no rule of its own. @internal */
  protected override dispatchAll(call: string, shader: Shader, work: Work): Tensor[] {
    if (this.isRecorded(...Object.values(work.inputs))) throw noGradient(call);
    return super.dispatchAll(call, shader, work);
  }

  override shader(options: ShaderOptions): Tensor[] {
    if (this.isRecorded(...(options?.inputs ?? []))) throw noGradient(`shader '${options.label}'`);
    return super.shader(options);
  }

  #differentiate(
    call: string,
    f: (inputs: TensorTree) => Tensor,
    inputs: TensorTree,
  ): { value: FloatTensor; gradients: unknown } {
    if (this.#tape) throw invalidArgument(`${call}: within another ${call}; gradients of gradients are not possible`);
    const leaves = leavesOf(call, inputs, 'inputs');
    for (const { path, tensor } of leaves) checkFloats(call, path, tensor, this);
    const tape = new Tape();
    const values = leaves.map(({ tensor }) => tape.valueOf(tensor) ?? tape.add(tensor));
    let kept: Tensor | undefined;
    try {
      const value = this.#recordedOn(tape, () =>
        this.scope(() => {
          const loss = lossOf(call, f(inputs));
          kept = this.#holds.share(loss, Loss);
          return tape.valueOf(loss);
        }),
      );
      if (value === undefined) throw independent(call, tape.stops[0]?.call);
      const totals = backwardOn(this, this.#holds, tape, value, this.filled((kept as unknown as Tensor).shape, 1));
      const gradients = this.#gradients(call, tape, leaves, values, totals);
      return { value: this.keep(kept as unknown as FloatTensor), gradients: rebuilt(inputs, gradients.values()) };
    } catch (error) {
      kept?.free();
      throw error;
    } finally {
      tape.release();
    }
  }

  /** The gradients of `leaves`, in tensors that nothing else has a part in. */
  #gradients(call: string, tape: Tape, leaves: Leaf[], values: number[], totals: Map<number, Tensor>): Tensor[] {
    try {
      return this.scope(() =>
        values.map((value, index) => {
          const total = totals.get(value);
          if (total) return this.#holds.isShared(total) ? this.copy(total) : this.keep(this.#holds.share(total));
          const stop = tape.stopBehind(value);
          if (stop) throw independent(`${call}: ${leaves[index]?.path}`, stop);
          return this.filled(tape.shapes[value] as readonly number[], 0);
        }),
      );
    } finally {
      for (const tensor of totals.values()) tensor.free();
    }
  }

  /** Runs `work` with another tape, or none. */
  #recordedOn<T>(tape: Tape | null, work: () => T): T {
    const before = this.#tape;
    this.#tape = tape;
    try {
      return work();
    } catch (error) {
      tape?.release();
      throw error;
    } finally {
      this.#tape = before;
    }
  }

  /** Notes a call. Returns its results, as variables if the tape is the tape of variables. */
  #record(
    tape: Tape,
    call: string,
    given: Record<string, Tensor>,
    options: Record<string, unknown>,
    made: Tensor[],
    rule: Rule,
  ): Tensor[] {
    const places = tape.placesOf(given);
    if (places.length === 0) return made;
    const outputs = tape.variables ? made.map((y) => this.#asVariable(y, tape)) : made;
    const saved: Tensor[] = [];
    const save = (tensor: Tensor): Tensor => {
      const held = this.#holds.share(tensor);
      saved.push(held);
      return held;
    };
    const wants = (name: string): boolean => places.some((place) => place.name === name);
    const backward = rule({ gpu: this, inputs: given, options, outputs, wants, save });
    tape.entries.push({ call, inputs: places, outputs: outputs.map((y) => tape.add(y)), backward, saved });
    return outputs;
  }

  /** Another handle in the place of y. */
  #asVariable(y: Tensor, tape?: Tape): Variable {
    const variable = this.#holds.share(y, Variable) as Variable;
    variable.tape = tape;
    y.free();
    this.keep(variable);
    return variable;
  }

  /** What a gradient depends on must stay as it is. */
  #checkWrite(tape: Tape, call: string, input: [string, Tensor] | undefined): void {
    if (!input) return;
    const [name, tensor] = input;
    if (tape.valueOf(tensor) === undefined && !this.#holds.isShared(tensor)) return;
    throw invalidArgument(`${call}: ${name} (${tensor}) is needed for a gradient and cannot be changed in place`);
  }
}

const noGradient = (call: string): Error => invalidArgument(`${call}: this operation has no gradient`);

/** The tensor that the function of a checkpoint makes. */
function madeBy(f: (...inputs: Tensor[]) => Tensor, inputs: Tensor[]): Tensor {
  const y: unknown = f(...inputs);
  if (y instanceof Tensor) return y;
  throw invalidArgument(`checkpoint: the function must return a tensor, found ${show(y)}`);
}
