//! Which models need what pages do not load with the WebAssembly: `shaders/rare/` and the codes of the grids.

use super::families;
use super::op::Op;
use super::program::{Output, Program};
use crate::gguf::{GgmlType, Metadata};

/// Whether a page must give the rare shaders and grids before it runs `program` over tensors of these types. Adapters
/// need them too, on any model, and so do caches of blocks.
///
/// A dense transformer with usual tensor types that writes text needs none. Embedders, encoders, experts, recurrent
/// layers and the other operations of few families do; `tests/dispatches.rs` compares this with the shaders that all
/// families run.
pub fn needs_rare(program: &Program, types: impl IntoIterator<Item = GgmlType>) -> bool {
    let writes_text = program.output == Output::Logits;
    !writes_text || !program.all_ops().all(is_usual) || types.into_iter().any(is_rare)
}

/// Whether [`needs_rare`] will say so of a file of a rare family, whose program cannot be made before its code is
/// there: so a page fetches both at once. Of other families the program tells.
pub fn expects_rare(metadata: &Metadata, types: impl IntoIterator<Item = GgmlType>) -> bool {
    families::is_rare(metadata) && (!families::is_usual(metadata) || types.into_iter().any(is_rare))
}

/// Whether `program` has a block that drafts, or operations whose code is in the part of the WebAssembly for rare
/// families. An encoder may.
pub fn has_rare_code(program: &Program) -> bool {
    let is_rare =
        |op: &Op| matches!(op, Op::Lerp { .. } | Op::WkvOutput { .. } | Op::Streams { .. } | Op::Switch { .. });
    program.next.is_some() || program.all_ops().any(|op| program.state(op).is_some() || is_rare(op))
}

fn is_usual(op: &Op) -> bool {
    matches!(
        op,
        Op::Embed { .. }
            | Op::EmbedPlace { .. }
            | Op::Norm { .. }
            | Op::Linear { .. }
            | Op::Rope { .. }
            | Op::Attend { .. }
            | Op::Gate { .. }
            | Op::Activate { .. }
            | Op::Add { .. }
            | Op::Scale { .. }
            | Op::SoftCap { .. }
    )
}

/// The types whose shaders are in `shaders/rare/`.
fn is_rare(ty: GgmlType) -> bool {
    use GgmlType::{
        F8_E4M3, IQ4_NL, IQ4_XS, MXFP4, NVFP4, Q1_0, Q2_0, Q2_K, Q3_K, Q4_1, Q5_0, Q5_1, Q5_K, TQ1_0, TQ2_0,
    };
    let is_new = matches!(ty, MXFP4 | NVFP4 | TQ1_0 | TQ2_0 | Q1_0 | Q2_0 | F8_E4M3);
    let is_seldom = matches!(ty, Q2_K | Q3_K | Q4_1 | Q5_0 | Q5_1 | Q5_K | IQ4_NL | IQ4_XS);
    is_new || is_seldom || ty.format().grid().is_some()
}
