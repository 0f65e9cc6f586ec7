// The passages of all files, in a database of the page that finds them by words and by vectors.
import { create, insertMultiple, removeMultiple, search } from '@orama/orama';
import { chunksOf } from './chunks.js';

/** Passages that go through the embedder at once, so that progress is seen and a stop is heard. */
const AT_ONCE = 16;

export class Library {
  /** Files with their passages: `{ name, text, passages, … }`. */
  files = [];
  #count = 0;
  #passages = new Map();
  #database;

  /** Adds a file that was read. A passage is `{ id, file, start, end, page }`. */
  add(file) {
    const held = { ...file };
    held.passages = spansOf(file).map((span) => {
      this.#count += 1;
      return { ...span, id: String(this.#count), file: held };
    });
    for (const passage of held.passages) this.#passages.set(passage.id, passage);
    this.files.push(held);
    return held;
  }

  async remove(file) {
    this.files = this.files.filter((other) => other !== file);
    const indexed = file.passages.filter(({ isIndexed }) => isIndexed).map(({ id }) => id);
    for (const { id } of file.passages) this.#passages.delete(id);
    if (indexed.length > 0) await removeMultiple(this.#database, indexed);
  }

  /** Forgets the vectors: vectors of two embedders do not compare. */
  forget() {
    this.#database = undefined;
    for (const passage of this.#passages.values()) passage.isIndexed = false;
  }

  /** Makes vectors of the passages that have none. `tell` hears how many are done, of how many. */
  async index(model, tell, signal) {
    const missing = [...this.#passages.values()].filter(({ isIndexed }) => !isIndexed);
    const size = model.info.embeddingLength;
    this.#database ??= create({ schema: { id: 'string', text: 'string', vector: `vector[${size}]` } });
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      tell(at, missing.length);
      const some = missing.slice(at, at + AT_ONCE);
      const texts = some.map(textOf);
      const vectors = await model.embed(texts, { truncate: true, signal });
      const rows = some.map(({ id }, i) => ({ id, text: texts[i], vector: [...vectors[i]] }));
      await insertMultiple(this.#database, rows);
      for (const passage of some) passage.isIndexed = true;
    }
  }

  /** The passages that are nearest to a question, by its words and by its vector. */
  async find(question, vector, limit) {
    const nearest = { vector: { value: [...vector], property: 'vector' }, similarity: 0 };
    const hybrid = { mode: 'hybrid', term: question, properties: ['text'], ...nearest, limit };
    const { hits } = await search(this.#database, hybrid);
    return hits.map(({ id }) => this.#passages.get(id)).filter(Boolean);
  }
}

/** Where the passages of a file are; none goes over the end of a page. */
function spansOf({ text, pages }) {
  if (!pages) return chunksOf(text);
  return pages.flatMap((from, at) => {
    const spans = chunksOf(text.slice(from, pages[at + 1]));
    return spans.map(({ start, end }) => ({ start: from + start, end: from + end, page: at + 1 }));
  });
}

/** What a passage says: of a table with the names of its columns. */
export function textOf({ file, start, end }) {
  const text = file.text.slice(start, end);
  return file.header && start > 0 ? `${file.header}\n${text}` : text;
}

/** Where a passage stands, in words. */
export const placeOf = ({ file, page }) => (page ? `${file.name}, page ${page}` : file.name);
