//! Where the patches of an image lie, for each family of image encoders: rows of the table of positions, and rotations.

use crate::plan::Encoder;
use crate::sizes::Size;
use crate::tables::{Grid, Taps, almost_bilinear, antialiased, between_corners, bicubic};

/// Positions along a side of MiniCPM-V's table.
const BUCKETS: usize = 70;

impl Encoder {
    /// Taps of each patch into the table of positions, or into the patches around it.
    ///
    /// # Errors
    /// A message for an image that the table has no room for.
    pub fn places(&self, grid: &Grid) -> Result<Taps, String> {
        let side = (self.places as f64).sqrt() as usize;
        match self.projector.as_str() {
            "gemma3" | "granite4_vision" | "idefics3" | "janus_pro" | "mlp" => {
                let area = grid.patches.area();
                match area <= self.places {
                    true => Ok(grid.learned()),
                    false => Err(format!("an image of {area} patches, the table has {} positions", self.places)),
                }
            }
            "gemma4v" | "gemma4uv" => {
                let most = self.places / 2;
                let Size { width, height } = grid.patches;
                match width.max(height) <= most {
                    true => Ok(grid.by_axis(most)),
                    false => Err(format!("an image of {width} × {height} patches, the tables have {most} positions")),
                }
            }
            "minicpmv4_6" | "minicpm_ocr_1_0" | "resampler" => match self.places < BUCKETS * BUCKETS {
                true => Err(format!("a table of {} positions, expected {}", self.places, BUCKETS * BUCKETS)),
                false => Ok(grid.in_buckets(BUCKETS)),
            },
            "lfm3vl" if self.place_taps > 0 => Ok(grid.around()),
            "kimivl" | "lfm2" | "paddleocr" | "phi4" => grid.resized(side, self.place_taps, antialiased),
            "hunyuanvl" => grid.interpolated(side, self.place_taps, almost_bilinear),
            "qwen3vl_merger" => grid.resized(side, self.place_taps, between_corners),
            "glm4v" if side > 0 => grid.resized(side, self.place_taps, bicubic),
            _ => Ok(Taps::default()),
        }
    }

    /// Cosines and sines of each patch, for encoders whose heads are rotated.
    pub fn turns(&self, grid: &Grid) -> Vec<f32> {
        const ROW: usize = 0;
        const COLUMN: usize = 1;
        let quarter = self.head_dim / 4;
        // The angle from one position to the next, for pair number `pair` of an axis.
        let power = |theta: f64, pair: f64| (theta.ln() * -2.0 * pair / (self.head_dim / 2) as f64).exp();
        let step = |theta: f64, pair: usize| power(theta, pair as f64);
        match self.projector.as_str() {
            "qwen2vl_merger" | "qwen2.5vl_merger" | "qwen3vl_merger" | "glm4v" | "lfm3vl" | "paddleocr"
            | "dots_ocr" => {
                let base = if self.projector == "lfm3vl" { 1e6 } else { 10_000.0 };
                grid.turns(self.head_dim, |pair| match pair {
                    _ if pair < quarter => (ROW, step(base, pair)),
                    _ if pair < 2 * quarter => (COLUMN, step(base, pair - quarter)),
                    _ => (ROW, 0.0),
                })
            }
            "pixtral" | "lightonocr" => grid.turns(self.head_dim, |pair| match pair < quarter {
                true => (ROW, step(10_000.0, pair)),
                false => (COLUMN, step(10_000.0, pair - quarter) * power(10_000.0, 0.5)),
            }),
            "gemma4v" | "kimivl" => {
                let base = if self.projector == "kimivl" { 10_000.0 } else { 100.0 };
                grid.turns(self.head_dim, |pair| match pair < quarter {
                    true => (COLUMN, step(base, pair)),
                    false => (ROW, step(base, pair - quarter)),
                })
            }
            _ => Vec::new(),
        }
    }
}
