//! The encoder of Qwen3-ASR (Shi et al. 2026, <https://arxiv.org/abs/2601.21337>) and Qwen3-Omni: three convolutions
//! over frames and bins, layers that see eight seconds.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Grouping, Op, Program};
use super::vit::{Form, Vit};

/// Frames of a chunk, which convolutions see by itself.
const FRAMES: usize = 100;
/// Chunks that the layers see at once.
const CHUNKS: usize = 8;
/// Values that a convolution reads of each channel: 3 × 3.
const KERNEL: usize = 9;
/// Rows of the layers: of the frames of a chunk, each convolution leaves every second one.
pub const ROWS: usize = CHUNKS * halved(halved(halved(FRAMES)));

const fn halved(count: usize) -> usize {
    count.div_ceil(2)
}

/// Convolutions, places that are those of a chunk, layers, a norm, two products. The caller has the values that the
/// first convolution reads, and says which rows the others read.
pub fn qwen3a(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (mut vit, patches) = Vit::reading(KERNEL, "a.blk", config, (encoder, Form::new(config)));
    let (bins, frames) = (halved(encoder.bins), halved(FRAMES));
    let rows = [bins * frames, halved(bins) * halved(frames), halved(halved(bins)) * halved(halved(frames))];
    vit.stage_rows(&rows.map(|rows| rows * CHUNKS));
    let mut x = patches;
    let names = [
        ("first convolution", ["a.conv2d.1.weight", "a.conv2d.1.bias"]),
        ("second convolution", ["a.conv2d.2.weight", "a.conv2d.2.bias"]),
        ("third convolution", ["a.conv2d.3.weight", "a.conv2d.3.bias"]),
    ];
    for (label, names) in names {
        if x != patches {
            x = vit.regroup_as("folded", x, Grouping { parts: KERNEL, taps: 1, by_value: true });
        }
        x = vit.project(x, names, label);
        vit.push(Op::Activate { x, kind: ActivationKind::GeluErf });
    }
    let bins = halved(halved(bins));
    let folded = vit.regroup_as("bins side by side", x, Grouping { parts: bins, taps: 1, by_value: true });
    vit.push_linear(folded, ["a.conv_out.weight", "a.conv_out.bias"], vit.x);
    vit.places(1);
    vit.blocks(&mut |_, _| {});
    vit.stream_norm(["a.post_ln.weight", "a.post_ln.bias"]);
    vit.project_twice(
        vit.x,
        [["mm.a.mlp.1.weight", "mm.a.mlp.1.bias"], ["mm.a.mlp.2.weight", "mm.a.mlp.2.bias"]],
        ActivationKind::GeluErf,
    );
    vit.finish()
}
