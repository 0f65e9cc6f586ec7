// The sections of a WebAssembly module, see https://webassembly.github.io/spec/core/binary/.

export const CUSTOM_SECTION = 0;
export const IMPORT_SECTION = 2;
export const EXPORT_SECTION = 7;
export const CODE_SECTION = 10;
const HEADER = 8;

/** The body of the section `id`; empty where there is none. */
export function sectionIn(module, id) {
  for (const section of sectionsOf(module)) if (section.id === id) return section.body;
  return Buffer.alloc(0);
}

/** The module with another body of its section `id`. */
export function withSection(module, id, change) {
  const sections = [...sectionsOf(module)];
  const parts = sections.map(({ id: other, body, whole }) => (other === id ? sectionOf(id, change(body)) : whole));
  return Buffer.concat([module.subarray(0, HEADER), ...parts]);
}

/** Number, content and all bytes of each section. */
function* sectionsOf(module) {
  for (let at = HEADER; at < module.length; ) {
    const [size, body] = readNumber(module, at + 1);
    const end = body + size;
    yield { id: module[at], body: module.subarray(body, end), whole: module.subarray(at, end) };
    at = end;
  }
}

/** A section with its number and length. */
export function sectionOf(id, content) {
  return Buffer.concat([Buffer.of(id), number(content.length), content]);
}

/** An unsigned LEB128 number, and where it ends. */
export function readNumber(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return [value, at];
  }
}

/** The bytes of an unsigned LEB128 number. */
export function number(value) {
  const bytes = [];
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0));
    value >>>= 7;
  } while (value > 0);
  return Buffer.from(bytes);
}
