/**
 * GGUF files, written whole.
 */

/** A key with its value: a text, a number as f32, a truth, or integers as u32. @internal */
export type MetadataPair = readonly [key: string, value: string | number | boolean | readonly number[]];

/** A tensor of a file. @internal */
export interface WrittenTensor {
  readonly name: string;
  /** The number of its type in a GGUF. */
  readonly type: number;
  /** The length of a row last. */
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** Bytes that tensors begin at multiples of. */
const ALIGNMENT = 32;

/** Numbers of the types of values in a GGUF. */
const [U32, F32, BOOL, STRING, ARRAY] = [4, 6, 7, 8, 9];

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** The bytes of a file. @internal */
export function writtenGguf(
  pairs: readonly MetadataPair[],
  tensors: readonly WrittenTensor[],
): Uint8Array<ArrayBuffer> {
  const head = headOf(pairs, tensors);
  const start = aligned(head.reduce((sum, bytes) => sum + bytes.length, 0));
  const file = new Uint8Array(start + tensors.reduce((sum, { data }) => sum + aligned(data.length), 0));
  let at = 0;
  for (const bytes of head) {
    file.set(bytes, at);
    at += bytes.length;
  }
  at = start;
  for (const { data } of tensors) {
    file.set(data, at);
    at += aligned(data.length);
  }
  return file;
}

function headOf(pairs: readonly MetadataPair[], tensors: readonly WrittenTensor[]): Uint8Array[] {
  const head = [new TextEncoder().encode('GGUF'), u32(3), u64(tensors.length), u64(pairs.length)];
  for (const [key, value] of pairs) head.push(...text(key), ...bytesOf(value));
  let offset = 0;
  for (const { name, shape, type, data } of tensors) {
    head.push(...text(name), u32(shape.length), ...[...shape].reverse().map(u64), u32(type), u64(offset));
    offset += aligned(data.length);
  }
  return head;
}

function bytesOf(value: MetadataPair[1]): Uint8Array[] {
  if (typeof value === 'string') return [u32(STRING), ...text(value)];
  if (typeof value === 'boolean') return [u32(BOOL), Uint8Array.of(value ? 1 : 0)];
  if (typeof value === 'number') return [u32(F32), new Uint8Array(Float32Array.of(value).buffer)];
  return [u32(ARRAY), u32(U32), u64(value.length), ...value.map(u32)];
}

function text(value: string): Uint8Array[] {
  const bytes = new TextEncoder().encode(value);
  return [u64(bytes.length), bytes];
}

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
