/**
 * Where the rows of an image or a sound stand in a prompt: text before, between and behind them, as models were
 * trained on it.
 */

/** A text whose special tokens are parsed, or the number of a tile. @internal */
export type LayoutItem = string | number;

/** Columns and rows of tiles, 0 where the image is not cut, and whether an overview follows them. @internal */
export type TileGrid = readonly [columns: number, rows: number, overview: number];

/** What an encoder's family has around its rows in a prompt. @internal */
export interface Family {
  /** Text before an image or a sound, with `N` for its number in the prompt. */
  readonly begin?: string;
  /** Text after it. */
  readonly end?: string;
  /** Text before a tile, with `R` and `C` for the numbers of its row and its column. */
  readonly tile?: string;
  /** Text after a tile. */
  readonly tileEnd?: string;
  /** Whether the image as a whole comes before its tiles, between `begin` and `end`. */
  readonly isWholeFirst?: boolean;
  /** Text between two lines of tiles. */
  readonly line?: string;
  /** Texts before the overview that follows tiles. */
  readonly overview?: readonly string[];
  /** Rows of an image, at most, unless the page says how many. */
  readonly rows?: number;
  /** Rows of a frame of a video, at most. */
  readonly frameRows?: number;
  /** The family whose texts are around a sound, where the file has an encoder of images, too. */
  readonly beside?: string;
}

/** MiniCPM-V. */
const SLICED: Family = {
  begin: '<image_id>N</image_id><image>',
  end: '</image>',
  tile: '<slice>',
  tileEnd: '</slice>',
  line: '\n',
  isWholeFirst: true,
};

/** Families by the name of their projector. @internal */
export const FAMILIES: Record<string, Family> = {
  deepseekocr: { end: '\n' },
  dots_ocr: { begin: '<|img|>', end: '<|endofimg|>', rows: 2048 },
  gemma3: { begin: '<start_of_image>', end: '<end_of_image>' },
  gemma3nv: { begin: '<start_of_image>', end: '<end_of_image>' },
  gemma4a: { begin: '<|audio>', end: '<audio|>' },
  gemma4ua: { begin: '<|audio>', end: '<audio|>' },
  gemma4uv: { begin: '<|image>', end: '<image|>', rows: 1120, frameRows: 70 },
  gemma4v: { begin: '<|image>', end: '<image|>', rows: 1120, frameRows: 70 },
  glm4v: { begin: '<|begin_of_image|>', end: '<|end_of_image|>' },
  granite4_vision: { end: '\n' },
  hunyuanvl: { begin: '<｜hy_place▁holder▁no▁100｜>', end: '<｜hy_place▁holder▁no▁101｜>', rows: 2048 },
  idefics3: {
    tile: '<fake_token_around_image><row_R_col_C>',
    line: '\n',
    overview: ['\n\n', '<fake_token_around_image>', '<global-img>'],
    end: '<fake_token_around_image>',
  },
  internvl: { begin: '<img>', end: '</img>' },
  kimivl: { begin: '<|media_start|>', end: '<|media_end|>' },
  lfm2: {
    begin: '<|image_start|>',
    tile: '<|img_row_R_col_C|>',
    overview: ['<|img_thumbnail|>'],
    end: '<|image_end|>',
  },
  lfm3a: { beside: 'lfm3vl' },
  lfm3vl: { begin: '<|vision_start|>', end: '<|vision_end|>' },
  minicpm_ocr_1_0: SLICED,
  minicpmv4_6: SLICED,
  minicpmv4_7: SLICED,
  mlp: { isWholeFirst: true },
  lightonocr: { begin: '<|im_start|>', end: '<|im_end|>', rows: 2048 },
  musicflamingo: { begin: '<sound>' },
  paddleocr: { begin: '<|IMAGE_START|>', end: '<|IMAGE_END|>', rows: 2048 },
  phi4: { rows: 4096 },
  pixtral: { end: '[IMG_END]' },
  qwen2a: { begin: '<|audio_bos|>', end: '<|audio_eos|>' },
  qwen3a: { begin: '<|audio_start|>', end: '<|audio_end|>' },
  resampler: { ...SLICED, begin: '<image>' },
  voxtral: { begin: '[BEGIN_AUDIO]' },
  qwen2vl_merger: { begin: '<|vision_start|>', end: '<|vision_end|>' },
  'qwen2.5vl_merger': { begin: '<|vision_start|>', end: '<|vision_end|>' },
  qwen3vl_merger: { begin: '<|vision_start|>', end: '<|vision_end|>' },
};

/** Tiles and text in a prompt for an image. @internal */
export function layoutOf(projector: string, [columns, rows, hasOverview]: TileGrid): LayoutItem[] {
  const { begin = '', end = '', tile = '', tileEnd = '', line = '', ...family } = FAMILIES[projector] ?? {};
  const whole = [begin, columns * rows, end];
  const items: LayoutItem[] = family.isWholeFirst ? whole : [begin];
  for (let row = 0; row < rows; row++) {
    if (row > 0) items.push(line);
    for (let column = 0; column < columns; column++) {
      items.push(tile.replace('R', `${row + 1}`).replace('C', `${column + 1}`), row * columns + column, tileEnd);
    }
  }
  if (hasOverview) items.push(...(family.overview ?? []));
  if (!family.isWholeFirst) items.push(columns * rows, end);
  return items.filter((item) => item !== '');
}

/** The same for a frame of a video, which is not cut. @internal */
export function layoutOfFrame(projector: string): LayoutItem[] {
  // An overview without tiles stands for the whole image where there is always one.
  const isAlwaysCut = projector === 'idefics3' ? 1 : 0;
  return layoutOf(projector, [0, 0, isAlwaysCut]).filter((item) => typeof item === 'number' || item.trim() !== '');
}

/** Rows of a frame of a video, at most, unless the family says how many. */
const FRAME_ROWS = 128;

/** The numbers of an encoder for frames of videos, which have fewer rows than images. @internal */
export function numbersOfFrames(projector: string, ofImages: Float64Array): Float64Array {
  const numbers = ofImages.slice();
  const rows = numbers.length - 3;
  numbers[rows] = Math.min(numbers[rows] as number, FAMILIES[projector]?.frameRows ?? FRAME_ROWS);
  return numbers;
}

/**
 * Pieces and text in a prompt for a sound: one line of tiles without the whole. `seesToo`: the file has an encoder of
 * images, too. @internal
 */
export function layoutOfSound(projector: string, pieces: number, seesToo = false): LayoutItem[] {
  const beside = seesToo ? FAMILIES[projector]?.beside : undefined;
  return layoutOf(beside ?? projector, [pieces, 1, 0]).filter((item) => item !== pieces);
}
