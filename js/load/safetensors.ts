/**
 * Files of safetensors: a header of JSON, then the bytes of tensors. Such a file is hostile input.
 */
import { bad, shown } from './peft-config.js';

/** A tensor of two dimensions. @internal */
export interface Matrix {
  readonly name: string;
  readonly dtype: 'f32' | 'f16' | 'bf16';
  readonly shape: readonly [rows: number, cols: number];
  readonly data: Uint8Array;
}

/** Types of safetensors, and bytes of a value. */
const TYPES = new Map<unknown, readonly [dtype: Matrix['dtype'], bytes: number]>([
  ['F32', ['f32', 4]],
  ['F16', ['f16', 2]],
  ['BF16', ['bf16', 2]],
]);

/**
 * The tensors of a file.
 *
 * @throws {WebggufError} `bad_file`
 * @internal
 */
export function readMatrices(file: Uint8Array): Matrix[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const length = file.length < 8 ? NaN : Number(view.getBigUint64(0, true));
  if (!(length <= file.length - 8)) throw bad(`a header of ${length} bytes in a file of ${file.length}`);
  const data = file.subarray(8 + length);
  const entries = Object.entries(headerOf(file.subarray(8, 8 + length)));
  return entries.filter(([name]) => name !== '__metadata__').map(([name, entry]) => matrix(name, entry, data));
}

function headerOf(bytes: Uint8Array): object {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw bad('the file is neither GGUF nor safetensors', cause);
  }
  if (typeof header === 'object' && header !== null && !Array.isArray(header)) return header;
  throw bad(`the header of the safetensors: expected an object, found ${shown(header)}`);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function matrix(name: string, entry: unknown, all: Uint8Array): Matrix {
  const where = `tensor ${shown(name)}`;
  if (typeof entry !== 'object' || entry === null) throw bad(`${where}: expected an object, found ${shown(entry)}`);
  const { dtype: type, shape, data_offsets: offsets } = entry as Readonly<Record<string, unknown>>;
  const [dtype, bytes] = TYPES.get(type) ?? [];
  if (!dtype || !bytes) throw bad(`${where}: expected F32, F16 or BF16, found ${shown(type)}`);
  if (!(Array.isArray(shape) && shape.length === 2 && shape.every(isCount))) {
    throw bad(`${where}: expected a shape of two sizes, found ${shown(shape)}`);
  }
  if (!(Array.isArray(offsets) && offsets.length === 2 && offsets.every(isCount))) {
    throw bad(`${where}: expected data_offsets of two sizes, found ${shown(offsets)}`);
  }
  const [rows, cols] = shape as [number, number];
  const [start, end] = offsets as [number, number];
  if (rows * cols * bytes !== end - start || end > all.length) {
    const found = `${end - start} bytes for shape [${shape}] of ${dtype}, up to byte ${end} of ${all.length}`;
    throw bad(`${where}: ${found}`);
  }
  return { name, dtype, shape: [rows, cols], data: all.subarray(start, end) };
}
