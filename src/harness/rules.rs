//! The choices of the rule tables on a device for matrices of typical models, for people to read.

use crate::forward::CHUNK;
use crate::gguf::GgmlType;
use crate::kernels::caps::Caps;
use crate::kernels::swiglu::Gate;
use crate::kernels::{mat_mul, mat_mul_dense, mat_mul_grouped, mat_vec};
use crate::tensor::fused;

/// The choice of one table for one problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Sizes of the problem.
    pub problem: String,
    /// The choice.
    pub choice: String,
}

/// Rows and columns: key, query and feed-forward matrices of a 1B model, and its head.
const MATRICES: [(u32, u32); 5] = [(512, 2048), (2048, 2048), (8192, 2048), (2048, 8192), (128_256, 2048)];

/// Rows and columns of products of tensors.
const PRODUCTS: [(u32, u32); 3] = [(1, 2048), (128, 2048), (2048, 2048)];

/// Entries and experts of grouped products.
const GROUPS: [(u32, u32); 4] = [(2, 8), (60, 64), (256, 8), (1024, 8)];

/// Activations after a product, with rows of x, for matrices in blocks.
const GATES: [(Option<Gate>, u32); 4] =
    [(None, 1), (Some(Gate::SwiGlu), 1), (Some(Gate::SwiGlu), 64), (Some(Gate::GeGlu), 1)];

/// The choices for a device with these capabilities.
pub fn choices(caps: &Caps) -> Vec<Choice> {
    let choice = |kernel, problem: String, choice: String| Choice { kernel, problem, choice };
    let vectors = MATRICES.map(|(rows, cols)| {
        choice("mat_vec", format!("{rows} rows of {cols}"), shape(mat_vec::choose(caps, GgmlType::Q4_0, rows, cols)))
    });
    let tiles = MATRICES.map(|(rows, cols)| {
        let tile = mat_mul::choose(caps, GgmlType::Q4_0, [rows, cols], CHUNK as u32);
        choice("mat_mul", format!("{rows} rows of {cols}"), format!("tiles of {}", tile.name))
    });
    let products = PRODUCTS.map(|(m, n)| {
        let tile = mat_mul_dense::choose(caps, false, [m, n, 1]);
        choice("mat_mul_dense", format!("{m} x {n}"), format!("tiles of {}", tile.name))
    });
    let groups = GROUPS.map(|(entries, experts)| {
        let path = match mat_mul_grouped::choose(entries, experts) {
            mat_mul_grouped::Path::Each => "each row for itself".to_owned(),
            mat_mul_grouped::Path::Tiles(tile) => format!("tiles of {}", tile.name),
        };
        choice("mat_mul_grouped", format!("{entries} rows of {experts} experts"), path)
    });
    let gates = GATES.map(|(gate, rows)| {
        let path = match fused::choose(gate, true, rows) {
            fused::Path::Fused => "one dispatch of mat_vec",
            fused::Path::Steps => "one after the other",
        };
        let what = gate.map_or("norm and product".to_owned(), |gate| format!("norm, product and {gate:?}"));
        choice("fused steps", format!("{what}, {rows} rows, matrix in blocks"), path.to_owned())
    });
    let of_tensors = products.into_iter().chain(groups).chain(gates);
    vectors.into_iter().chain(tiles).chain(of_tensors).collect()
}

fn shape(shape: mat_vec::Shape) -> String {
    let lanes = match shape.lanes {
        0 => "a subgroup".to_owned(),
        lanes => format!("{lanes} threads"),
    };
    let limbs = if shape.limbs { ", x in limbs" } else { "" };
    format!("{} rows by {lanes}, {} threads in a workgroup{limbs}", shape.rows_per_group, shape.wg_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subgroups_change_the_choice() {
        let plain = choices(&Caps::baseline());
        let subgroups = choices(&Caps { subgroups: true, subgroup_size: (32, 32), ..Caps::baseline() });
        assert_eq!(plain.len(), subgroups.len());
        assert!(plain[0].choice.contains("threads,") && subgroups[0].choice.contains("a subgroup"), "{plain:?}");
    }
}
