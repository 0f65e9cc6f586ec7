/**
 * Tensors that several handles stand for.
 */
import { Tensor } from '../tensor/tensor.js';
import type { Owner } from '../tensor/tensor.js';

/** Counts the handles of tensors: the memory goes with the last of them. */
export class Holds {
  readonly #owner: Owner;
  /** Handles beside the first one, by the tensor's number. */
  readonly #others = new Map<number, number>();

  constructor(owner: Owner) {
    this.#owner = owner;
    const { engine } = owner;
    const free = engine.free_tensor.bind(engine);
    // On the object itself: models want an engine of its own class.
    engine.free_tensor = (id) => {
      const others = this.#others.get(id);
      if (others === undefined) free(id);
      else if (others === 1) this.#others.delete(id);
      else this.#others.set(id, others - 1);
    };
  }

  /** Another handle of the same memory, which is freed by itself. */
  share<D extends Tensor>(tensor: D, kind: typeof Tensor = Tensor): D {
    const id = tensor.idFor('grad', 'a tensor', this.#owner);
    this.#others.set(id, (this.#others.get(id) ?? 0) + 1);
    return new kind(this.#owner, { id, dtype: tensor.dtype, shape: [...tensor.shape] }) as D;
  }

  /** Whether another handle stands for the same memory, too. */
  isShared(tensor: Tensor): boolean {
    return this.#others.has(tensor.idFor('grad', 'a tensor', this.#owner));
  }
}
