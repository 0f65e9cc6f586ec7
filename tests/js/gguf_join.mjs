// Two GGUF files as one, for tests of files with several encoders: keys and tensors of both.

const ALIGNMENT = 32;
/** Bytes of values by their type; 8 is a string, 9 an array. */
const BYTES = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

const padded = (length) => Math.ceil(length / ALIGNMENT) * ALIGNMENT;
const number = (bytes, value) => {
  const out = Buffer.alloc(bytes);
  if (bytes === 8) out.writeBigUInt64LE(BigInt(value));
  else out.writeUInt32LE(value);
  return out;
};
const text = (value) => Buffer.concat([number(8, value.length), Buffer.from(value)]);

/** Keys with their bytes, tensors with theirs, and the data. */
function read(file) {
  let at = 8;
  const long = () => Number(file.readBigUInt64LE((at += 8) - 8));
  const short = () => file.readUInt32LE((at += 4) - 4);
  const string = () => file.toString('utf8', at + 8, (at += 8 + Number(file.readBigUInt64LE(at))));
  const skip = (type) => {
    if (type === 8) string();
    else if (type !== 9) at += BYTES[type];
    else for (let of = short(), left = long(); left > 0; left--) skip(of);
  };
  const [tensorCount, keyCount] = [long(), long()];
  const keys = Array.from({ length: keyCount }, () => {
    const start = at;
    const name = string();
    skip(short());
    return { name, bytes: file.subarray(start, at) };
  });
  const tensors = Array.from({ length: tensorCount }, () => {
    const start = at;
    string();
    const dimensions = short();
    at += 8 * dimensions + 4; // the type, too
    const head = file.subarray(start, at);
    return { head, offset: long() };
  });
  return { keys, tensors, data: file.subarray(padded(at)) };
}

/** One file; `strings` are keys in place of those of both files. */
export function joined(first, second, strings) {
  const [a, b] = [first, second].map(read);
  const known = new Set(a.keys.map(({ name }) => name));
  const others = [...a.keys, ...b.keys.filter(({ name }) => !known.has(name))].filter(({ name }) => !(name in strings));
  const added = Object.entries(strings).map(([name, value]) => Buffer.concat([text(name), number(4, 8), text(value)]));
  const behind = padded(a.data.length);
  const tensors = [...a.tensors, ...b.tensors.map(({ head, offset }) => ({ head, offset: offset + behind }))];
  const header = Buffer.concat([
    first.subarray(0, 8),
    number(8, tensors.length),
    number(8, others.length + added.length),
    ...others.map(({ bytes }) => bytes),
    ...added,
    ...tensors.flatMap(({ head, offset }) => [head, number(8, offset)]),
  ]);
  const filled = (bytes) => Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]);
  return Buffer.concat([filled(header), filled(a.data), b.data]);
}
