//! The encoder of Granite Vision 4.1 (<https://huggingface.co/ibm-granite/granite-vision-4.1-4b>): SigLIP's layers, and
//! projectors of the rows of several layers, each a Q-Former whose queries see a window of patches. Its rows enter the
//! text model at several layers (DeepStack).

use super::super::super::config::{EncoderConfig, MAX_DEEP_ROWS, ModelConfig};
use super::super::super::program::{Activation, Combining, Grouping, Norm, NormKind, Op, Operand, Program, StreamSpec};
use super::queries::Queries;
use super::vit::{Form, Vit, own};

/// Projectors of a file, at most.
pub const PROJECTORS: usize = MAX_DEEP_ROWS + 1;
/// Where their tensors are.
const QUERIES: Queries = Queries { group: "v.proj_blk" };

/// Names of what a projector makes of patches: their norm, this with positions in the window, keys, values,
/// those in the place of each query, and rows.
const NAMES: [[&str; 6]; PROJECTORS] = [
    ["patches 0", "placed 0", "k 0", "v 0", "squares 0", "rows"],
    ["patches 1", "placed 1", "k 1", "v 1", "squares 1", "side 1"],
    ["patches 2", "placed 2", "k 2", "v 2", "squares 2", "side 2"],
    ["patches 3", "placed 3", "k 3", "v 3", "squares 3", "side 3"],
    ["patches 4", "placed 4", "k 4", "v 4", "squares 4", "side 4"],
    ["patches 5", "placed 5", "k 5", "v 5", "squares 5", "side 5"],
    ["patches 6", "placed 6", "k 6", "v 6", "squares 6", "side 6"],
    ["patches 7", "placed 7", "k 7", "v 7", "squares 7", "side 7"],
    ["patches 8", "placed 8", "k 8", "v 8", "squares 8", "side 8"],
];

/// Patches come window by window, and so do the rows, behind which stands one that ends a line.
pub fn granite4_vision(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let config = &ModelConfig { layers: encoder.depth, ..config.clone() };
    let mut vit = Vit::new(config, encoder, Form::new(config));
    vit.places(1);
    vit.blocks(&mut |vit, layer| {
        for projector in (0..encoder.taken.len()).filter(|&of| encoder.taken[of] == layer) {
            placed(vit, projector);
        }
    });
    let width = config.hidden;
    let all: Vec<usize> = (0..encoder.taken.len()).collect();
    for &projector in &all {
        let [_, placed, k, v, ..] = NAMES[projector];
        let x = vit.activation(placed, width);
        QUERIES.product(&mut vit, (projector, ["cross_attn_k.weight", "cross_attn_k.bias"]), x, (k, width));
        QUERIES.product(&mut vit, (projector, ["cross_attn_v.weight", "cross_attn_v.bias"]), x, (v, width));
    }
    // What is written last are the rows that enter as embeddings do.
    for &projector in all.iter().rev() {
        let rows = rows(&mut vit, projector);
        if projector > 0 {
            vit.side(rows);
        }
    }
    vit.finish()
}

/// The norm of the rows of a layer, and the same with the position of each in its window.
fn placed(vit: &mut Vit, projector: usize) {
    let width = vit.config.hidden;
    let [name, placed, ..] = NAMES[projector];
    let bias = QUERIES.bias(projector, "norm.bias");
    let norm = Norm { bias, ..vit.norm(NormKind::Layer, QUERIES.key(projector, "norm.weight"), width) };
    let [x, y] = [name, placed].map(|name| vit.activation(name, width));
    vit.push(Op::Norm { x: vit.x, norm, y: x });
    vit.push(Op::Repeat { table: QUERIES.key(projector, "img_pos"), rows: vit.encoder.window_rows(), y });
    vit.push(Op::Combine { x: y, kind: Combining::Add, with: Operand::Rows(x) });
}

/// The rows of a projector: each query begins with the file's, and one of the patches in its place or their mean.
fn rows(vit: &mut Vit, projector: usize) -> Activation {
    let width = vit.config.hidden;
    let [patches, _, k, v, squares, rows] = NAMES[projector];
    let [patches, k, v] = [patches, k, v].map(|name| vit.activation(name, width));
    let parts = vit.encoder.window_rows() / vit.encoder.queries.max(1);
    let square = vit.regroup_as(squares, patches, Grouping { parts, taps: 1, by_value: false });
    let place = vit.activation("query place", width);
    let one = StreamSpec { width, skip: 0, inputs: 0, first: 0, plus: 0.0, router: None };
    let (base, x, spec) = match vit.encoder.offsets[projector] {
        Some(skip) => (Some(square), None, StreamSpec { skip, ..one }),
        None => (None, Some(square), StreamSpec { inputs: parts, plus: 1.0 / parts as f32, ..one }),
    };
    vit.push(Op::Streams { base, x, spec, y: place });
    let queries = vit.activation("queries", width);
    vit.push(Op::Repeat { table: QUERIES.key(projector, "query"), rows: vit.encoder.queries, y: queries });
    vit.push(Op::Combine { x: queries, kind: Combining::Add, with: Operand::Rows(place) });
    let norm = QUERIES.norm(vit, projector, ["post_norm.weight", "post_norm.bias"]);
    let stream = vit.activation("stream", width);
    vit.push(Op::Norm { x: queries, norm, y: stream });
    QUERIES.write(vit, projector, stream, [k, v]);
    let names = ["linear.weight", "linear.bias"];
    let y = QUERIES.product(vit, (projector, names), stream, (rows, vit.encoder.width));
    vit.push(Op::Break { row: own("v.image_newline"), number: 0, to: y });
    y
}
