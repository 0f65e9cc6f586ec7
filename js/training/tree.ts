/**
 * Parameters of a model: tensors in arrays and objects, as deep as one likes.
 */
import { invalidArgument } from '../errors.js';
import { show } from '../check.js';
import { original } from '../proxies.js';
import { type FloatTensor, type Owner, Tensor } from '../tensor/tensor.js';

/** A tensor, or tensors in arrays and in the fields of objects. */
export type TensorTree = Tensor | readonly TensorTree[] | { readonly [name: string]: TensorTree };

/** A tree of the same form, with the gradient in the place of each tensor. */
export type Gradients<T> = T extends Tensor ? FloatTensor : { -readonly [K in keyof T]: Gradients<T[K]> };

/** A loss with its gradients. */
export interface ValueAndGradients<T extends TensorTree> {
  /** What the function returned; `await value.item()` throws where it is NaN or infinite. */
  readonly value: FloatTensor;
  /** f32, in the form of the inputs. */
  readonly gradients: Gradients<T>;
}

/** A tensor and where it lies, such as `inputs.layers[2].weight`. */
export interface Leaf {
  readonly path: string;
  readonly tensor: Tensor;
}

/** The tensors of a tree, in order. */
export function leavesOf(call: string, tree: unknown, path: string): Leaf[] {
  if (tree instanceof Tensor) return [{ path, tensor: original(tree) }];
  if (Array.isArray(tree)) return tree.flatMap((item, index) => leavesOf(call, item, `${path}[${index}]`));
  if (typeof tree !== 'object' || tree === null || Object.getPrototypeOf(tree) !== Object.prototype) {
    throw invalidArgument(`${call}: ${path} must be a tensor, found ${show(tree)}`);
  }
  return Object.entries(tree).flatMap(([name, item]) => leavesOf(call, item, `${path}.${name}`));
}

/** Refuses what has no gradient: other types, what was freed, tensors of another Gpu. @internal */
export function checkFloats(call: string, name: string, tensor: Tensor, gpu: Owner): void {
  if (!(tensor instanceof Tensor)) throw invalidArgument(`${call}: ${name} must be a tensor, found ${show(tensor)}`);
  tensor.idFor(call, name, gpu);
  if (/^(f32|b?f16)$/.test(tensor.dtype)) return;
  throw invalidArgument(`${call}: ${name} is ${tensor}; there are gradients of f32, f16 and bf16`);
}

/** A tree of the same form with `tensors` in the place of its own, in order. */
export function rebuilt(tree: TensorTree, tensors: Iterator<Tensor>): unknown {
  const visit = (item: TensorTree): unknown => {
    if (item instanceof Tensor) return tensors.next().value;
    if (Array.isArray(item)) return item.map(visit);
    return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, visit(value)]));
  };
  return visit(tree);
}

/** The tensors of `tree` with the tensors of `other` at the same places and of the same shapes. */
export function pairs(call: string, tree: TensorTree, other: TensorTree, names: [string, string]): [Leaf, Leaf][] {
  const [own, others] = [leavesOf(call, tree, names[0]), leavesOf(call, other, names[1])];
  if (own.length !== others.length) {
    throw invalidArgument(`${call}: ${names[0]} are ${own.length} tensors, ${names[1]} ${others.length}`);
  }
  return own.map((leaf, index) => {
    const its = others[index] as Leaf;
    if (String(leaf.tensor.shape) !== String(its.tensor.shape)) {
      throw invalidArgument(`${call}: ${leaf.path} is ${leaf.tensor}, ${its.path} ${its.tensor}`);
    }
    return [leaf, its];
  });
}
