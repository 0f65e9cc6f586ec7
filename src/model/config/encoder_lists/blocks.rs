//! The blocks of MobileNetV5 (the encoder of images of Gemma 3n), which no metadata describes: what a file has is told
//! by the shapes of its tensors. What they lack is found where the tensors of a program are looked for.

use super::super::MAX_FFN;
use super::super::encoder::EncoderConfig;
use crate::error::{Error, Result};

/// Stages, at most.
const STAGES: usize = 4;
/// Cells along a side of what a convolution reads, at most.
const MAX_KERNEL: u64 = 15;
/// Cells along a side of a grid, at most: a grid of WebGPU has as many workgroups as there are cells.
const MAX_SIDE: usize = 255;
/// Cells along a side of what comes out, at most.
const OUT: usize = 16;

/// The shape of a tensor.
type Dims<'a, 'd> = &'a dyn Fn(&str) -> Option<&'d [u64]>;

/// A block: what it computes, with widths of rows and sides of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// A convolution of 3 × 3 cells to `wide` values, and a product.
    Edge { wide: usize, out: usize },
    /// A depthwise convolution, a product to `wide` values, another depthwise convolution, and a product; a kernel of 0
    /// cells where the file has none.
    Inverted { start: usize, wide: usize, middle: usize, out: usize },
    /// Attention whose heads share keys and values, of all cells or of a convolution with this kernel.
    Attention { heads: usize, head_dim: usize, kernel: usize, out: usize },
}

impl Block {
    /// Values of a row that comes out.
    pub const fn out(self) -> usize {
        match self {
            Self::Edge { out, .. } | Self::Inverted { out, .. } | Self::Attention { out, .. } => out,
        }
    }

    /// Whether the first block of a stage makes the grid smaller.
    pub const fn shrinks(self) -> bool {
        matches!(self, Self::Edge { .. } | Self::Inverted { middle: 1.., .. })
    }
}

/// All blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// Values of a row behind the first convolution.
    pub stem: usize,
    /// The number of each stage that has blocks, with its blocks.
    pub stages: Vec<(usize, Vec<Block>)>,
    /// Cells along a side of the grid behind each of them.
    pub sides: Vec<usize>,
    /// Values between the two products behind the blocks, and values of the second.
    pub merged: [Option<usize>; 2],
}

impl Blocks {
    fn read(image: usize, dims: Dims) -> Result<Self> {
        let stem = last(dims, "v.conv_stem.conv")?.unwrap_or(1);
        let (mut stages, mut sides) = (Vec::new(), Vec::new());
        let (mut width, mut side) = (stem, image.div_ceil(2));
        for stage in 0..STAGES {
            let mut blocks = Vec::new();
            while let Some(block) = block(dims, (stage, blocks.len()), width)? {
                if blocks.is_empty() && block.shrinks() {
                    side = side.div_ceil(2);
                }
                width = block.out();
                blocks.push(block);
            }
            if !blocks.is_empty() {
                stages.push((stage, blocks));
                sides.push(side);
            }
        }
        let [wide, out] = ["v.msfa.ffn.pw_exp.conv", "v.msfa.ffn.pw_proj.conv"].map(|name| last(dims, name));
        let found = Self { stem, stages, sides, merged: [wide?, out?] };
        found.check(image)?;
        Ok(found)
    }

    fn check(&self, image: usize) -> Result<()> {
        let [first, read, last] = [self.sides.first(), self.read_last(), self.sides.last()];
        let [first, read, last] = [first, read, last].map(|side| side.copied().unwrap_or(0));
        // A row has four cells of the grid behind the first convolution where the next one makes it smaller.
        let stem = if self.is_packed() { image.div_ceil(4) } else { image.div_ceil(2) };
        let is_multiple = read.checked_rem(last) == Some(0) && (read <= OUT || read.is_multiple_of(OUT));
        if is_multiple && first.max(stem) <= MAX_SIDE {
            return Ok(());
        }
        Err(Error::bad_file(format!(
            "image of {image} pixels: expected grids up to {MAX_SIDE} cells a side, the last multiples of each other \
             and of {OUT}, found {stem}, {first}, {read}, {last}"
        )))
    }

    /// Whether a row has four cells of the grid behind the first convolution.
    pub fn is_packed(&self) -> bool {
        self.stages.first().is_some_and(|(_, blocks)| matches!(blocks[0], Block::Edge { .. }))
    }

    /// Cells along a side of the grid that the last products read: of the last stage but one, where there are four.
    fn read_last(&self) -> Option<&usize> {
        if self.is_fused() { self.sides.get(STAGES - 2) } else { self.sides.last() }
    }

    /// Whether the last products read the results of two stages.
    pub const fn is_fused(&self) -> bool {
        self.stages.len() == STAGES
    }

    /// Cells along a side of what comes out.
    pub fn out(&self) -> usize {
        self.read_last().map_or(0, |&side| side.min(OUT))
    }
}

impl EncoderConfig {
    /// With the blocks of the file.
    pub(super) fn with_blocks_of_grids(self, dims: Dims) -> Result<Self> {
        let blocks = Blocks::read(self.image_size, dims)?;
        let queries = blocks.out() * blocks.out();
        Ok(Self { blocks: Some(blocks), queries, ..self })
    }
}

/// A block of a stage that reads rows of `width` values, if the file has it.
fn block(dims: Dims, (stage, number): (usize, usize), width: usize) -> Result<Option<Block>> {
    let name = |of: &str| format!("v.blk.{stage}.{number}.{of}");
    let last = |of: &str| last(dims, &name(of));
    let kernel = |of: &str| kernel(dims, &name(of));
    if let Some(wide) = last("conv_exp")? {
        return Ok(Some(Block::Edge { wide, out: last("conv_pwl")?.unwrap_or(1) }));
    }
    if let Some(queries) = last("attn.query.proj")? {
        let [head_dim, out] = [last("attn.key.proj")?, last("attn.output.proj")?].map(|width| width.unwrap_or(1));
        let kernel = kernel("attn.key.down_conv")?.max(kernel("attn.value.down_conv")?);
        return Ok(Some(Block::Attention { heads: queries.div_ceil(head_dim), head_dim, kernel, out }));
    }
    let (start, wide) = (kernel("dw_start.conv")?, last("pw_exp.conv")?);
    if start == 0 && wide.is_none() {
        return Ok(None);
    }
    let wide = wide.unwrap_or(width);
    let (middle, out) = (kernel("dw_mid.conv")?, last("pw_proj.conv")?.unwrap_or(wide));
    Ok(Some(Block::Inverted { start, wide, middle, out }))
}

/// All axes but the last one of a kernel or a matrix, and that one.
fn axes<'d>(dims: Dims<'_, 'd>, name: &str) -> Option<(u64, &'d u64)> {
    let (last, before) = dims(&format!("{name}.weight"))?.split_last()?;
    Some((before.iter().fold(1, |all: u64, &count| all.saturating_mul(count)), last))
}

/// The length of the last axis of a kernel or a matrix.
fn last(dims: Dims, name: &str) -> Result<Option<usize>> {
    match axes(dims, name) {
        None => Ok(None),
        Some((_, &found)) if (1..=MAX_FFN as u64).contains(&found) => Ok(Some(found as usize)),
        Some((_, found)) => Err(wrong(name, "1 to 524288 rows", *found)),
    }
}

/// Cells along a side of a depthwise kernel, or 0 where there is none.
fn kernel(dims: Dims, name: &str) -> Result<usize> {
    let Some((cells, _)) = axes(dims, name) else { return Ok(0) };
    match cells.isqrt() {
        side @ 1..=MAX_KERNEL if side * side == cells && side % 2 == 1 => Ok(side as usize),
        _ => Err(wrong(name, "a square of an odd number of cells", cells)),
    }
}

fn wrong(name: &str, expected: &str, found: u64) -> Error {
    Error::bad_file(format!("tensor {name}.weight: expected {expected}, found {found}"))
}
