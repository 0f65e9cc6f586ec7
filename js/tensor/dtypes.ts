/**
 * Types of tensor elements, and the way from JavaScript numbers to their bytes and back.
 */
import { invalidArgument } from '../errors.js';
import { QUANTISED } from './formats.js';
import { show } from '../check.js';

/** How floating-point elements are stored. All arithmetic is f32. */
export type FloatDType = 'f32' | 'f16' | 'bf16';

/** Element types that JavaScript can write and read. */
export type PlainDType = FloatDType | 'u32' | 'i32';

/** Matrices in blocks of a GGUF type; weights of products and of look-ups. */
export type QuantisedDType = keyof typeof QUANTISED;

/** How the elements of a tensor are stored. */
export type DType = PlainDType | QuantisedDType;

/** What `data()` gives: numbers; of f16 and bf16 the same numbers as 32-bit floats. */
export type DataOf<D extends DType> = D extends FloatDType
  ? Float32Array
  : D extends 'u32'
    ? Uint32Array
    : D extends 'i32'
      ? Int32Array
      : never;

/** Numbers for a new tensor. */
export type TensorData =
  | readonly number[]
  | Float32Array
  | Float64Array
  | Uint32Array
  | Int32Array
  | Uint16Array
  | Uint8Array;

const PLAIN: Record<PlainDType, true> = { f32: true, f16: true, bf16: true, u32: true, i32: true };
const isPlain = (dtype: DType): dtype is PlainDType => Object.hasOwn(PLAIN, dtype);

/** Whether elements are in blocks of a GGUF type. @internal */
export const isQuantised = (dtype: DType): dtype is QuantisedDType => Object.hasOwn(QUANTISED, dtype);

/** Refuses what is no element type. @internal */
export function checkDType(call: string, dtype: unknown): DType {
  const names = [...Object.keys(PLAIN), ...Object.keys(QUANTISED)];
  if (typeof dtype === 'string' && names.includes(dtype)) return dtype as DType;
  throw invalidArgument(`${call}: there is no dtype ${show(dtype)}; there are ${names.join(', ')}`);
}

/** The type that fits data of this kind best. @internal */
export function dtypeOf(data: TensorData): PlainDType {
  if (data instanceof Uint32Array) return 'u32';
  return data instanceof Int32Array ? 'i32' : 'f32';
}

/** A shape for messages: `[2, 3] f32`. @internal */
export function describe(shape: readonly number[], dtype: string): string {
  return `[${shape.join(', ')}] ${dtype}`;
}

/**
 * The bytes of a tensor of `dtype`. Numbers are rounded to it; a Uint16Array holds the bits of f16 or bf16, and a
 * Uint8Array the blocks of a quantised matrix.
 * @internal
 */
export function toBytes(call: string, data: TensorData, dtype: DType): Uint8Array {
  const wrong = (needs: string): Error =>
    invalidArgument(`${call}: a tensor of dtype ${dtype} needs ${needs}, found ${show(data)}`);
  if (!isPlain(dtype)) {
    if (data instanceof Uint8Array) return data;
    throw wrong('its GGUF blocks in a Uint8Array');
  }
  if (data instanceof Uint8Array) throw wrong('numbers');
  if (data instanceof Uint16Array) {
    if (dtype === 'f16' || dtype === 'bf16') return bytesOf(data);
    throw wrong('numbers; the bits in a Uint16Array are f16 or bf16');
  }
  if (!Array.isArray(data) && !ArrayBuffer.isView(data)) throw wrong('an array of numbers');
  switch (dtype) {
    case 'f16':
      return bytesOf(Uint16Array.from(data, halfBits));
    case 'bf16':
      return bytesOf(Uint16Array.from(data, brainBits));
    case 'f32':
      return bytesOf(data instanceof Float32Array ? data : Float32Array.from(data));
    case 'u32':
      return bytesOf(integers(data, Uint32Array, wrong));
    case 'i32':
      return bytesOf(integers(data, Int32Array, wrong));
  }
}

/** Integers that do not fit are refused, not wrapped. */
function integers<A extends Uint32Array | Int32Array>(
  data: ArrayLike<number>,
  type: { from(data: ArrayLike<number>): A },
  wrong: (needs: string) => Error,
): A {
  const made = type.from(data);
  const bad = made.findIndex((value: number, index: number) => value !== data[index]);
  if (bad >= 0) throw wrong(`integers that fit (element ${bad} is ${String(data[bad])})`);
  return made;
}

const bytesOf = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** The first `length` elements in `bytes`, which may be padded. @internal */
export function fromBytes<D extends DType>(bytes: Uint8Array, dtype: D, length: number): DataOf<D> {
  const { buffer } = bytes.slice();
  const values = ((): Float32Array | Uint32Array | Int32Array => {
    switch (dtype) {
      case 'f16':
        return Float32Array.from(new Uint16Array(buffer, 0, length), halfValue);
      case 'bf16':
        return brainValues(new Uint16Array(buffer, 0, length));
      case 'u32':
        return new Uint32Array(buffer, 0, length);
      case 'i32':
        return new Int32Array(buffer, 0, length);
      default:
        return new Float32Array(buffer, 0, length);
    }
  })();
  return values as DataOf<D>;
}

const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

/** The bits of the f32 nearest to `value`. */
function floatBits(value: number): number {
  float[0] = value;
  return word[0] as number;
}

/** The bits of the f16 nearest to `value` as an f32, ties to even. */
function halfBits(value: number): number {
  const bits = floatBits(value);
  const [sign, size] = [(bits >>> 16) & 0x8000, bits & 0x7fff_ffff];
  if (size > 0x7f80_0000) return sign | 0x7e00;
  if (size >= 0x477f_f000) return sign | 0x7c00;
  if (size >= 0x3880_0000) return sign | ((size - 0x3800_0000 + 0xfff + ((size >>> 13) & 1)) >>> 13);
  // Below 2^-14 all steps are of 2^-24.
  const steps = Math.abs(float[0] as number) * 2 ** 24;
  const whole = Math.floor(steps);
  const up = steps - whole > 0.5 || (steps - whole === 0.5 && whole % 2 === 1);
  return sign | (whole + Number(up));
}

function halfValue(bits: number): number {
  const [exponent, fraction] = [(bits >>> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  const value = exponent === 31 ? (fraction ? NaN : Infinity) : size;
  return bits & 0x8000 ? -value : value;
}

/** bf16 is the upper half of f32. */
function brainValues(bits: Uint16Array): Float32Array {
  return new Float32Array(Uint32Array.from(bits, (half) => half << 16).buffer);
}

/** The bits of the bf16 nearest to `value` as an f32, ties to even. */
function brainBits(value: number): number {
  const bits = floatBits(value);
  if ((bits & 0x7fff_ffff) > 0x7f80_0000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
