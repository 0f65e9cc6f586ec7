/**
 * The file of an adapter: a GGUF as llama.cpp reads it.
 */
import { writtenGguf } from '../../load/gguf-writer.js';
import { toBytes } from '../../tensor/dtypes.js';
import type { Recipe } from './options.js';
import { type Matrices, shapesOf } from './parameters.js';
import type { AdapterTarget } from './trainable.js';

/** Numbers of the types in a GGUF. */
const TYPES = { f32: 0, f16: 1 };

/** The file of these matrices, `<tensor>.lora_a` [rank, cols] and `<tensor>.lora_b` [rows, rank]. */
export function adapterFile(
  { architecture, targets, recipe }: { architecture: string; targets: readonly AdapterTarget[]; recipe: Recipe },
  matrices: Matrices,
  dtype: 'f32' | 'f16',
): Blob {
  const shapes = shapesOf(targets, recipe.rank);
  const tensors = matrices.map((values, at) => ({
    name: `${targets[at >> 1]?.name}.lora_${at % 2 === 0 ? 'a' : 'b'}`,
    type: TYPES[dtype],
    shape: shapes[at] as [number, number],
    data: toBytes('adapter', values, dtype),
  }));
  const file = writtenGguf(
    [
      ['general.type', 'adapter'],
      ['general.architecture', architecture],
      ['adapter.type', 'lora'],
      ['adapter.lora.alpha', recipe.alpha],
    ],
    tensors,
  );
  return new Blob([file], { type: 'application/octet-stream' });
}
