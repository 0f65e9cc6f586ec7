/**
 * What parts of a prompt become, for comparisons with other engines: ids, and the rows of images and sounds.
 */
import type { Encoded, TileRows } from '../media/encoder.js';
import type { Encoders } from '../media/encoders.js';
import { contentOf, given, idsOfContent } from '../media/prompt.js';
import type { WasmModel } from '../wasm/webgguf.js';
import type { EncodedParts, PromptPart } from './engine.js';

/** The same parts with pixels and samples in place of what a page has. @internal */
export async function partsWithContents(parts: readonly PromptPart[]): Promise<PromptPart[]> {
  return Promise.all(parts.map(async (part) => ('text' in part ? part : contentOf(part))));
}

/**
 * Texts, whose special tokens are parsed, images and sounds as ids, with BOS in front where the model wants it.
 * @internal
 */
export async function encodeParts(
  handle: WasmModel,
  encoders: Encoders | undefined,
  parts: readonly PromptPart[],
): Promise<EncodedParts> {
  const ids: number[] = [...handle.encodePrompt('')];
  const media = [];
  for (const part of parts) {
    if ('text' in part) {
      ids.push(...handle.tokenize(part.text, false, true));
      continue;
    }
    const all = given(encoders, part);
    const tiles: TileRows[] = [];
    const keep = (encoded: Encoded): void => void tiles.push(...inOrder(encoded));
    const content = await contentOf(part);
    const asked = { most: Number.POSITIVE_INFINITY, number: media.length };
    ids.push(...(await idsOfContent(handle, all, content, asked, keep)));
    const rows = tiles.reduce((sum, tile) => sum + tile.rows, 0);
    media.push({ rows, embeddings: tiles.flatMap(rowsOf) });
  }
  return { ids: Uint32Array.from(ids), media, positions: handle.countPositions(Uint32Array.from(ids)) };
}

/** The tiles as they follow each other in a prompt. */
function inOrder({ layout, tiles }: Encoded): TileRows[] {
  return layout.flatMap((item) => (typeof item === 'number' ? [tiles[item] as TileRows] : []));
}

/** What is for deeper layers behind the main row. */
function rowsOf({ rows: count, values, parts }: TileRows): Float32Array[] {
  const width = values.length / (count * parts);
  return Array.from({ length: count }, (_, at) => {
    const row = new Float32Array(width * parts);
    for (let part = 0; part < parts; part++) {
      const start = (part * count + at) * width;
      row.set(values.subarray(start, start + width), part * width);
    }
    return row;
  });
}
