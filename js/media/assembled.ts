/**
 * Images whose tiles' rows do not follow each other in a prompt: lines of all tiles, each with a row at its end.
 */
import type { Asked, Encoded, TileRows } from './encoder.js';
import { layoutOf, layoutOfFrame } from './layout.js';
import { oneByOne } from './steps.js';

/** An image whose tiles, `count`, become one. @internal */
interface Tiled {
  readonly projector: string;
  readonly count: number;
  /** Which row of which tile each row is, see `Picture.order`. */
  readonly order: Uint32Array;
}

/** Encodes the tiles of an image, or only the last one of a frame, and puts their rows in order. @internal */
export async function assembled(
  { projector, count, order }: Tiled,
  asked: Asked,
  encode: (tile: number) => Promise<TileRows>,
): Promise<Encoded> {
  const first = asked.isFrame ? count - 1 : 0;
  let made: TileRows | undefined;
  await oneByOne(count - first, asked, async (number) => {
    const { rows, values, parts, digest } = await encode(first + number);
    const width = values.length / rows / parts;
    const length = order.length * width;
    made ??= { columns: 0, rows: order.length, values: new Float32Array(parts * length), parts, digest };
    for (const [at, row] of order.entries()) {
      if (row >>> 16 !== number) continue;
      for (let part = 0; part < parts; part++) {
        const from = (part * rows + (row & 0xffff)) * width;
        made.values.set(values.subarray(from, from + width), part * length + at * width);
      }
    }
  });
  const layout = asked.isFrame ? layoutOfFrame(projector) : layoutOf(projector, [0, 0, 0]);
  return { layout, tiles: [made as TileRows] };
}
