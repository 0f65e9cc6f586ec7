// GGUF files with other keys and tensors than the fixtures have.

/** Numbers of the types of values. */
export const [U32, I32, F32, BOOL, STRING, ARRAY] = [4, 5, 6, 7, 8, 9];
const SIZES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

const u32 = (value) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const text = (value) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

/** The bytes of a value of this type; of an array `[type, values]`. */
function bytesOf(type, value) {
  if (type === STRING) return text(value);
  if (type === BOOL) return Buffer.of(Number(value));
  if (type === F32) return Buffer.from(Float32Array.of(value).buffer);
  if (type === ARRAY) {
    const [inner, values] = value;
    return Buffer.concat([u32(inner), u64(values.length), ...values.map((each) => bytesOf(inner, each))]);
  }
  return u32(value);
}

class Reader {
  constructor(file) {
    this.file = Buffer.from(file);
    this.at = 0;
  }

  u32() {
    this.at += 4;
    return this.file.readUInt32LE(this.at - 4);
  }

  u64() {
    this.at += 8;
    return Number(this.file.readBigUInt64LE(this.at - 8));
  }

  text() {
    const length = this.u64();
    this.at += length;
    return this.file.toString('utf8', this.at - length, this.at);
  }

  skip(type) {
    if (type === STRING) this.text();
    else if (type !== ARRAY) this.at += SIZES[type];
    else {
      const inner = this.u32();
      for (let count = this.u64(); count > 0; count--) this.skip(inner);
    }
  }
}

/** Keys as bytes, tensors with their data. */
function parse(file) {
  const reader = new Reader(file);
  reader.at = 8;
  const [tensorCount, pairCount] = [reader.u64(), reader.u64()];
  const pairs = new Map();
  for (let n = 0; n < pairCount; n++) {
    const key = reader.text();
    const from = reader.at;
    reader.skip(reader.u32());
    pairs.set(key, reader.file.subarray(from, reader.at));
  }
  const tensors = Array.from({ length: tensorCount }, () => {
    const name = reader.text();
    const dims = Array.from({ length: reader.u32() }, () => reader.u64());
    return { name, dims, type: reader.u32(), offset: reader.u64() };
  });
  const start = Math.ceil(reader.at / 32) * 32;
  const ends = tensors.map(({ offset }) => offset).concat(file.length - start);
  for (const tensor of tensors) {
    const end = Math.min(...ends.filter((end) => end > tensor.offset));
    tensor.data = reader.file.subarray(start + tensor.offset, start + end);
  }
  return { pairs, tensors };
}

/** The strings of a key of a file. */
export function stringsOf(file, key) {
  const reader = new Reader(parse(file).pairs.get(key));
  reader.at = 8; // the types of the array and of its values
  return Array.from({ length: reader.u64() }, () => reader.text());
}

/**
 * `file` with other keys: `set` has `[key, type, value]`, `drop` names of keys or patterns of theirs; and with `change`
 * of its tensors, `{ name, dims, type, data }` each.
 */
export function patched(file, { set = [], drop = [], change = (tensors) => tensors }) {
  const { pairs, tensors } = parse(file);
  const isDropped = (key) => drop.some((of) => (typeof of === 'string' ? of === key : of.test(key)));
  for (const key of [...pairs.keys()]) if (isDropped(key)) pairs.delete(key);
  for (const [key, type, value] of set) pairs.set(key, Buffer.concat([u32(type), bytesOf(type, value)]));
  const changed = change(tensors);
  const head = [Buffer.from('GGUF'), u32(3), u64(changed.length), u64(pairs.size)];
  for (const [key, value] of pairs) head.push(text(key), value);
  const data = [];
  let offset = 0;
  for (const tensor of changed) {
    head.push(text(tensor.name), u32(tensor.dims.length), ...tensor.dims.map(u64), u32(tensor.type), u64(offset));
    data.push(tensor.data, Buffer.alloc((32 - (tensor.data.length % 32)) % 32));
    offset += data.at(-1).length + tensor.data.length;
  }
  const header = Buffer.concat(head);
  return new Uint8Array(Buffer.concat([header, Buffer.alloc((32 - (header.length % 32)) % 32), ...data]));
}
