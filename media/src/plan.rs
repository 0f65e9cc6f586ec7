//! The input of each family of image encoders: sizes, tiles, patches and tables.

use crate::image::{Image, check_size};
use crate::resample::Filter;
use crate::sizes::{self, Bounds, LFM2_TILE, Size, Sizes};
use crate::slices::Slicing;
use crate::sound::Fold;
use crate::tables::{Grid, Taps, round_f16};

/// Pixels along a side of a window of Qwen2.5-VL.
const WINDOW: usize = 112;

/// Upper bound of InternVL's tiles, where its file does not say.
const INTERNVL_TILES: usize = 12;

/// Upper bound of the pixels along a side that an encoder may ask for ...
const MOST_SIDE: usize = 1 << 15;
/// ... and of all pixels: four times the largest of the known encoders.
pub const MOST_PIXELS: u64 = 1 << 24;
/// Upper bound of MiniCPM-V's slices, where its file does not say.
const SLICES: usize = 9;

/// Upper bound of tiles, whatever its file says.
const MOST_TILES: usize = 256;

/// Encoders whose patches are not rounded to f16.
const EXACT: [&str; 16] = [
    "deepseekocr",
    "dots_ocr",
    "gemma3nv",
    "gemma4uv",
    "granite4_vision",
    "hunyuanvl",
    "janus_pro",
    "kimivl",
    "lfm3vl",
    "lightonocr",
    "minicpm_ocr_1_0",
    "minicpmv4_6",
    "mlp",
    "paddleocr",
    "phi4",
    "resampler",
];

/// The colour around an image that has another shape than a square, of Janus Pro ...
pub const GREY: [u8; 3] = [127; 3];
/// ... and of LLaVA.
const BROWN: [u8; 3] = [122, 116, 104];

/// In the number of rows of a line: a row stands before and one behind the image, and each line ends with one.
pub const FRAMED: usize = 1 << 31;

/// The numbers of an encoder.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder {
    /// `clip.projector_type`.
    pub projector: String,
    /// Pixels along a side of a training image or tile.
    pub image_size: usize,
    /// Pixels along a side of a patch.
    pub patch_size: usize,
    /// Patches along a side that are merged into one row.
    pub merge: usize,
    /// Pixels along the longer side before an image is cut into tiles; 0: the file does not say.
    pub longest_edge: usize,
    /// Rows of the position table.
    pub places: usize,
    /// Taps of a row into the position table.
    pub place_taps: usize,
    /// Values of a head.
    pub head_dim: usize,
    /// Mean of each channel.
    pub mean: [f32; 3],
    /// Standard deviation of each channel.
    pub deviation: [f32; 3],
    /// The least and the most pixels of an image; 0: the file does not say.
    pub pixels: [usize; 2],
    /// Whether images are resized with a triangle, for encoders whose files say.
    pub is_bilinear: bool,
    /// Rows of an image or a slice, where they are not its patches.
    pub queries: usize,
    /// Values of an output row.
    pub width: usize,
    /// The sizes of images that are cut into tiles, where the file lists them.
    pub tiled: Vec<Size>,
    /// Upper bound of an image's rows, where its size is not fixed.
    pub most_tokens: usize,
    /// Whether there is a break row between two lines of an image.
    pub has_breaks: bool,
    /// Whether images of another shape are stretched instead of padded with black.
    pub stretches: bool,
}

/// One pass of an encoder: an image or a tile of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tile {
    /// The number of patches, or of what four of them become before the layers.
    pub rows: usize,
    /// Where rows become others before the layers.
    pub folds: Vec<Fold>,
    /// Output rows: in a line, with [`FRAMED`] where there is a frame, and in all.
    pub outputs: [usize; 2],
    /// `[rows, 3, side, side]`
    pub patches: Vec<f32>,
    /// Taps into the position table.
    pub places: Taps,
    /// Taps that merge patches into rows.
    pub groups: Taps,
    /// Cosines and sines of each row.
    pub turns: Vec<f32>,
    /// 1 for a row that is a break between two lines, where there are breaks; of a frame for each of its three kinds.
    pub breaks: Vec<f32>,
    /// Sizes of the windows, in patches, for encoders with window attention.
    pub parts: Vec<u32>,
}

/// The tiles of an image in order, with the overview last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tiles {
    /// The tiles, in the order of their rows in a prompt.
    pub images: Vec<Image>,
    /// Columns and rows of tiles; 0 where the image is not cut.
    pub grid: [usize; 2],
    /// Whether the last tile is an overview.
    pub has_overview: bool,
}

impl Tiles {
    fn one(image: Image) -> Self {
        Self { images: vec![image], grid: [0; 2], has_overview: false }
    }

    fn cut(refined: &Image, tile: Size, overview: Image) -> Self {
        let grid = [refined.size.width.div_ceil(tile.width), refined.size.height.div_ceil(tile.height)];
        let at = (0..grid[0] * grid[1]).map(|n| [n % grid[0] * tile.width, n / grid[0] * tile.height]);
        let mut images: Vec<Image> = at.map(|at| refined.cut(at, tile)).collect();
        images.push(overview);
        Self { images, grid, has_overview: true }
    }
}

impl Encoder {
    /// Pixels along a side of a merged row.
    pub(crate) fn align(&self) -> usize {
        self.patch_size.saturating_mul(self.merge)
    }

    fn bounds(&self, [least, most]: [usize; 2]) -> Bounds {
        let pixels = |tokens: usize| tokens.saturating_mul(self.align() * self.align());
        Bounds { align: self.align(), pixels: [pixels(least), pixels(most.min(self.most_tokens).max(least))] }
    }

    /// The bounds of the file in pixels, and at most as many rows as the caller says.
    fn bounds_of_file(&self) -> Bounds {
        let [least, most] = self.pixels;
        let area = self.align().saturating_mul(self.align());
        let most = area.saturating_mul(self.most_tokens).min(most);
        Bounds { align: self.align(), pixels: [least, most.max(least)] }
    }

    /// The sizes that an image is resized to. Pixels are not needed.
    ///
    /// # Errors
    /// A message for an unknown encoder, and for one whose numbers ask for images of more than [`MOST_PIXELS`].
    pub fn sizes(&self, size: Size) -> Result<Sizes, String> {
        let number = self.image_size.max(self.align()).max(self.longest_edge);
        if number > MOST_SIDE {
            return Err(too_many((number as u64).saturating_mul(number as u64)));
        }
        let square = Size::square(self.image_size.max(1));
        let longest = if self.longest_edge > 0 { self.longest_edge } else { self.image_size };
        let within = |tokens| sizes::within(size, self.bounds(tokens));
        let sizes = match self.projector.as_str() {
            "lfm3vl" => Sizes::one(sizes::nearest(size, self.bounds_of_file().in_rows())),
            "hunyuanvl" | "paddleocr" | "phi4" => Sizes::one(sizes::within(size, self.bounds_of_file())),
            "dots_ocr" => Sizes::one(sizes::within_by(size, self.bounds_of_file(), f32::round_ties_even)),
            "lightonocr" => Sizes::one(sizes::along_edge(size, longest, self.bounds([0, usize::MAX]))),
            "gemma4v" | "gemma4uv" => Sizes::one(within([70, 1120])),
            "kimivl" | "pixtral" => Sizes::one(within([8, 1024])),
            "qwen2vl_merger" | "qwen2.5vl_merger" | "qwen3vl_merger" | "glm4v" => Sizes::one(within([8, 4096])),
            "idefics3" if self.longest_edge > 0 => {
                let resized = sizes::with_longest_edge(size, self.longest_edge);
                Sizes { resized: Some(resized), ..Sizes::cut(sizes::covering(resized, square.width), square, square) }
            }
            // A file of an older converter.
            "idefics3" => {
                let whole = sizes::within(size, Bounds { align: square.width, pixels: [0, 0] });
                Sizes::cut(whole, square, square)
            }
            // Here `longest_edge` is the upper bound of tiles.
            "internvl" if size.width > square.width || size.height > square.width => {
                let most = if self.longest_edge == 0 { INTERNVL_TILES } else { self.longest_edge.min(MOST_TILES) };
                Sizes::cut(sizes::internvl_size(size, square.width, most), square, square)
            }
            "minicpmv4_6" | "minicpm_ocr_1_0" | "resampler" => self.slicing().sizes(size),
            "deepseekocr" => self.pages(size),
            "granite4_vision" | "mlp"
                if !self.tiled.is_empty() && (self.is_assembled() || size.width.max(size.height) > square.width) =>
            {
                Sizes::cut(sizes::fullest(size, square, self.tiled.iter().copied()), square, square)
            }
            "internvl" | "gemma3" | "gemma3nv" | "janus_pro" | "mlp" => Sizes::one(square),
            "lfm2" => self.sizes_of_lfm2(size),
            other => return Err(format!("images for the encoder {other} are not known")),
        };
        match sizes.most_pixels() {
            most if most > MOST_PIXELS => Err(too_many(most)),
            _ => Ok(sizes),
        }
    }

    fn sizes_of_lfm2(&self, size: Size) -> Sizes {
        let bounds = self.bounds([64, 256]);
        let (tile, overview) = (Size::square(LFM2_TILE), sizes::within(size, bounds));
        match sizes::lfm2_tiles(size, self.patch_size, bounds) {
            None => Sizes::one(overview),
            Some(Size { width, height }) => {
                Sizes::cut(Size { width: width * LFM2_TILE, height: height * LFM2_TILE }, tile, overview)
            }
        }
    }

    fn slicing(&self) -> Slicing {
        let merge = if self.projector == "minicpmv4_6" { 4 } else { self.merge };
        // As for InternVL.
        let most = if self.longest_edge == 0 { SLICES } else { self.longest_edge.min(MOST_TILES) };
        Slicing { side: self.image_size.max(1), align: self.patch_size.saturating_mul(merge), most }
    }

    /// The number of prompt rows of an image of this size.
    ///
    /// # Errors
    /// As [`Encoder::sizes`], and a message for an image or a tile without a row.
    pub fn rows(&self, size: Size) -> Result<usize, String> {
        let sizes = self.sizes(size)?;
        let [tile, whole] = [sizes.tile, sizes.whole].map(|size| self.outputs(size));
        if tile == 0 || whole == 0 {
            return Err(self.too_small(sizes.tile));
        }
        if self.is_assembled() {
            return Ok(self.assembled_rows(size, &sizes));
        }
        Ok(sizes.grid().map_or(0, Size::area) * tile + whole)
    }

    /// The image or its tiles, resized.
    ///
    /// # Errors
    /// As [`Encoder::sizes`].
    pub async fn tiles(&self, image: &Image) -> Result<Tiles, String> {
        let sizes = self.sizes(image.size)?;
        let (projector, is_small) = (self.projector.as_str(), sizes.refined.is_none());
        let filter = match projector {
            "lfm3vl" if self.is_bilinear => Filter::ShortBilinear,
            "lfm3vl" => Filter::ShortBicubic,
            "gemma3" | "gemma3nv" | "lfm2" | "phi4" => Filter::Bilinear,
            "hunyuanvl" => Filter::Lanczos,
            "idefics3" if self.longest_edge > 0 => Filter::Lanczos,
            _ => Filter::Bicubic,
        };
        let resized = match sizes.resized {
            Some(size) => Some(image.stretched(size, filter).await),
            None => None,
        };
        let image = resized.as_ref().unwrap_or(image);
        let Some(refined) = sizes.refined else {
            let whole = match projector {
                "deepseekocr" | "dots_ocr" | "gemma4uv" | "gemma4v" | "hunyuanvl" | "internvl" | "lfm2" | "lfm3vl"
                | "minicpmv4_6" | "minicpm_ocr_1_0" | "resampler" => self.overview(image, sizes.whole, filter).await,
                "mlp" if !self.tiled.is_empty() => image.stretched(sizes.whole, filter).await,
                _ => self.fit(image, sizes.whole, filter).await,
            };
            return Ok(Tiles { has_overview: is_small && projector == "internvl", ..Tiles::one(whole) });
        };
        let cut = match projector {
            "deepseekocr" | "minicpmv4_6" | "minicpm_ocr_1_0" | "resampler" => image.stretched(refined, filter).await,
            "idefics3" if resized.is_some() => image.stretched(refined, filter).await,
            "idefics3" => image.fitted(refined, filter).await,
            _ => self.fit(image, refined, filter).await,
        };
        // Idefics 3 makes the overview from the resized image.
        let of = if resized.is_some() { &cut } else { image };
        let overview = self.overview(of, sizes.whole, filter).await;
        Ok(Tiles::cut(&cut, sizes.tile, overview))
    }

    async fn fit(&self, image: &Image, size: Size, filter: Filter) -> Image {
        match self.stretches {
            true => image.stretched(size, filter).await,
            false if self.projector == "janus_pro" => image.fitted_on(GREY, size, filter).await,
            false if self.projector == "mlp" && self.tiled.is_empty() => image.fitted_on(BROWN, size, filter).await,
            false => image.fitted(size, filter).await,
        }
    }

    /// What is said of an image without a row.
    pub fn too_small(&self, Size { width, height }: Size) -> String {
        format!("an image of {width} × {height} pixels has no block of {} pixels", self.align())
    }

    /// Whether a row is the mean of a whole block of patches.
    fn is_mean(&self) -> bool {
        matches!(self.projector.as_str(), "gemma3" | "gemma4v")
    }

    /// The number of output rows of an image or a tile in its final size, see [`Tile::outputs`].
    pub fn outputs(&self, size: Size) -> usize {
        let [columns, lines] = [size.width, size.height].map(|side| {
            let patches = side / self.patch_size;
            if self.is_mean() { patches / self.merge } else { patches.div_ceil(self.merge) }
        });
        match self.projector.as_str() {
            "hunyuanvl" => (columns + 1) * lines + 2,
            "gemma3nv" | "resampler" if columns * lines > 0 => self.queries,
            "granite4_vision" if columns * lines > 0 => self.rows_of_tile(),
            "deepseekocr" => columns * lines + 2,
            _ => columns * lines + if self.has_breaks { lines.saturating_sub(1) } else { 0 },
        }
    }

    /// The encoder's input for an image or a tile in its final size.
    ///
    /// # Errors
    /// A message for an image without a patch, or too narrow for the position table.
    pub fn tile(&self, image: &Image) -> Result<Tile, String> {
        let side = self.patch_size;
        let patches = Size { width: image.size.width / side, height: image.size.height / side };
        let grid = Grid::new(patches, self.merge, self.is_mean());
        let grid = match self.projector.as_str() {
            "qwen2.5vl_merger" => grid.in_parts(self.merge, (WINDOW / self.patch_size / 2).max(1)),
            _ => grid,
        };
        if grid.blocks.area() == 0 {
            return Err(self.too_small(image.size));
        }
        match self.projector.as_str() {
            "internvl" => return self.with_class(&grid, image),
            // CLIP has a class token, SigLIP none.
            "mlp" if self.places > grid.cells.len() => return self.with_class(&grid, image),
            "minicpmv4_6" | "minicpm_ocr_1_0" => return self.in_squares(grid, image),
            "gemma3nv" => return Ok(self.whole(image)),
            "resampler" => return self.resampled(&grid, image),
            "granite4_vision" => return self.in_windows(&grid, image),
            "deepseekocr" => return self.twice(image),
            _ => {}
        }
        let area = (self.merge * self.merge) as f32;
        let groups = match self.projector.as_str() {
            // Patches are not merged.
            "gemma4uv" => Taps::default(),
            _ => grid.groups(if self.is_mean() { 1.0 / area } else { 1.0 }),
        };
        let (columns, taps) = (grid.blocks.width, self.merge * self.merge);
        let (groups, breaks) = match self.projector.as_str() {
            "hunyuanvl" => groups.framed(columns, taps),
            _ if self.has_breaks => groups.with_breaks(columns, taps),
            _ => (groups, Vec::new()),
        };
        let outputs = match self.projector.as_str() {
            "hunyuanvl" => [(columns + 1) | FRAMED, groups.indices.len() / taps],
            _ => [columns, if self.has_breaks { breaks.len() } else { grid.blocks.area() }],
        };
        Ok(Tile {
            rows: grid.cells.len(),
            folds: Vec::new(),
            outputs,
            patches: self.pixels(&grid, image),
            places: self.places(&grid)?,
            groups,
            turns: self.turns(&grid),
            parts: grid.parts,
            breaks,
        })
    }

    /// The values of all patches, see [`Tile::patches`].
    pub fn pixels(&self, grid: &Grid, image: &Image) -> Vec<f32> {
        // Gemma 4 computes 2 x − 1 from its input.
        let (mean, deviation) = match self.projector.as_str() {
            "gemma4v" => (self.mean.map(|of| of + 0.5), self.deviation.map(|of| of * 0.5)),
            _ => (self.mean, self.deviation),
        };
        let round: fn(f32) -> f32 = if EXACT.contains(&self.projector.as_str()) { |value| value } else { round_f16 };
        grid.pixels(image, self.patch_size, ([mean, deviation], round))
    }

    /// The resized tiles of an image of RGBA pixels.
    ///
    /// # Errors
    /// As [`check_size`] and [`Encoder::sizes`].
    pub async fn prepare(&self, [width, height]: [u32; 2], rgba: Vec<u8>) -> Result<Tiles, String> {
        check_size(width, height)?;
        self.tiles(&Image::of_rgba(width, height, rgba).await?).await
    }
}

fn too_many(pixels: u64) -> String {
    format!("an encoder that wants {pixels} pixels, at most 16777216 are taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_known_from_sizes() {
        let encoder = |projector: &str, has_breaks: bool| Encoder { has_breaks, ..encoder(projector) };
        let names = [
            "lfm3vl",
            "lightonocr",
            "paddleocr",
            "phi4",
            "janus_pro",
            "kimivl",
            "hunyuanvl",
            "gemma3",
            "gemma4v",
            "gemma4uv",
            "pixtral",
            "qwen2.5vl_merger",
            "internvl",
            "mlp",
            "lfm2",
            "idefics3",
        ];
        for (name, has_breaks) in names.map(|name| (name, false)).into_iter().chain([("pixtral", true)]) {
            for (width, height) in [(24, 16), (20, 28), (8, 8)] {
                let rgba = vec![9; width * height * 4];
                let mut steps =
                    crate::steps::Steps::new(async move { Image::of_rgba(width as u32, height as u32, rgba).await });
                let image =
                    std::iter::repeat_with(|| steps.step()).flatten().next().expect("pixels").expect("an image");
                let encoder = encoder(name, has_breaks);
                let tile = encoder.tile(&image).expect(name);
                assert_eq!(encoder.outputs(image.size), tile.outputs[1], "{name}: {width} × {height}");
            }
        }
    }

    fn encoder(projector: &str) -> Encoder {
        Encoder {
            projector: projector.into(),
            image_size: 24,
            patch_size: 4,
            merge: 2,
            longest_edge: 0,
            places: 64,
            place_taps: 64,
            head_dim: 8,
            mean: [0.5; 3],
            deviation: [0.5; 3],
            pixels: [256, 16_384],
            is_bilinear: false,
            queries: 3,
            width: 8,
            tiled: Vec::new(),
            most_tokens: 256,
            has_breaks: false,
            stretches: false,
        }
    }

    const NAMES: [&str; 24] = [
        "gemma3",
        "gemma4v",
        "gemma4uv",
        "pixtral",
        "qwen2vl_merger",
        "qwen2.5vl_merger",
        "qwen3vl_merger",
        "glm4v",
        "idefics3",
        "internvl",
        "lfm2",
        "lfm3vl",
        "lightonocr",
        "paddleocr",
        "dots_ocr",
        "phi4",
        "janus_pro",
        "kimivl",
        "hunyuanvl",
        "minicpmv4_6",
        "minicpm_ocr_1_0",
        "mlp",
        "resampler",
        "other",
    ];

    #[test]
    fn rows_are_known_before_pixels() {
        for (name, longest_edge) in NAMES[..23].iter().map(|name| (*name, 0)).chain([("idefics3", 48), ("internvl", 4)])
        {
            for (width, height) in [(24, 16), (200, 121), (8, 90), (1, 1)] {
                let encoder = Encoder { longest_edge, ..encoder(name) };
                let (size, rgb) = (Size { width, height }, vec![9; width * height * 3]);
                let known = encoder.rows(size).expect(name);
                let work = async move {
                    let tiles = encoder.tiles(&Image { size, rgb }).await.expect("tiles");
                    tiles.images.iter().map(|image| encoder.outputs(image.size)).sum::<usize>()
                };
                assert_eq!(crate::steps::Steps::new(work).finish().1, known, "{name}: {width} × {height}");
            }
        }
    }

    /// A file of some kilobytes may have any numbers.
    #[test]
    fn hostile_numbers_are_refused_before_pixels() {
        let large = [0, 1, 4096, 8192, 32_768, 1 << 20, u32::MAX as usize];
        for name in NAMES {
            for number in large {
                for (width, height) in [(10, 10), (1, 8192), (8192, 8192)] {
                    let all = [
                        Encoder { image_size: number, ..encoder(name) },
                        Encoder { longest_edge: number, ..encoder(name) },
                        Encoder { pixels: [number; 2], most_tokens: number, ..encoder(name) },
                        Encoder { patch_size: number.max(1), ..encoder(name) },
                        Encoder { merge: number.max(1), ..encoder(name) },
                        Encoder { most_tokens: number, image_size: number, longest_edge: number, ..encoder(name) },
                    ];
                    for encoder in all {
                        let Ok(sizes) = encoder.sizes(Size { width, height }) else { continue };
                        if let Ok(rows) = encoder.rows(Size { width, height }) {
                            assert!(sizes.grid().map_or(0, Size::area) < rows, "a row for each tile: {encoder:?}");
                        }
                        assert!(
                            [sizes.resized, sizes.refined, Some(sizes.whole)]
                                .iter()
                                .flatten()
                                .all(|size| size.pixels() <= MOST_PIXELS),
                            "{encoder:?}: {sizes:?}"
                        );
                    }
                }
            }
        }
        let why = Encoder { longest_edge: 8192, ..encoder("idefics3") }.sizes(Size::square(10)).expect_err("refused");
        assert!(why.contains("67371264 pixels, at most 16777216"), "{why}");
    }
}
