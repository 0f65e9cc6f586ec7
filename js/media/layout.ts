/**
 * Where the rows of an image or a sound stand in a prompt: text before, between and behind them, as models were
 * trained on it.
 */

/** A text whose special tokens are parsed, or the number of a tile. @internal */
export type LayoutItem = string | number;

/** Columns and rows of tiles, 0 where the image is not cut, and whether an overview follows them. @internal */
export type TileGrid = readonly [columns: number, rows: number, overview: number];

/** Begin and end of an image that is not cut, and of a sound. */
const MARKS: Record<string, readonly [string, string]> = {
  gemma3: ['<start_of_image>', '<end_of_image>'],
  gemma4a: ['<|audio>', '<audio|>'],
  gemma4ua: ['<|audio>', '<audio|>'],
  gemma4uv: ['<|image>', '<image|>'],
  gemma4v: ['<|image>', '<image|>'],
  glm4v: ['<|begin_of_image|>', '<|end_of_image|>'],
  pixtral: ['', '[IMG_END]'],
  lfm2: ['<|image_start|>', '<|image_end|>'],
  internvl: ['<img>', '</img>'],
  qwen2a: ['<|audio_bos|>', '<|audio_eos|>'],
  qwen3a: ['<|audio_start|>', '<|audio_end|>'],
  voxtral: ['[BEGIN_AUDIO]', ''],
  qwen2vl_merger: ['<|vision_start|>', '<|vision_end|>'],
  'qwen2.5vl_merger': ['<|vision_start|>', '<|vision_end|>'],
  qwen3vl_merger: ['<|vision_start|>', '<|vision_end|>'],
};

/** What stands in a prompt for an image. @internal */
export function layoutOf(projector: string, [columns, rows, overview]: TileGrid): LayoutItem[] {
  const items: LayoutItem[] = [];
  const isIdefics = projector === 'idefics3';
  const [begin, end] = MARKS[projector] ?? ['', ''];
  items.push(begin);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const place = `row_${row + 1}_col_${column + 1}`;
      if (projector === 'internvl') {
        items.push(row * columns + column);
        continue;
      }
      items.push(isIdefics ? `<fake_token_around_image><${place}>` : `<|img_${place}|>`, row * columns + column);
    }
    if (isIdefics && row < rows - 1) items.push('\n');
  }
  if (overview && isIdefics) items.push('\n\n', '<fake_token_around_image>', '<global-img>');
  else if (overview && projector === 'lfm2') items.push('<|img_thumbnail|>');
  items.push(columns * rows);
  items.push(isIdefics ? '<fake_token_around_image>' : end);
  return items.filter((item) => item !== '');
}

/** What stands in a prompt for a sound of so many pieces. @internal */
export function layoutOfSound(projector: string, pieces: number): LayoutItem[] {
  const [begin, end] = MARKS[projector] ?? ['', ''];
  return [begin, ...Array.from({ length: pieces }, (_, piece) => piece), end].filter((item) => item !== '');
}
