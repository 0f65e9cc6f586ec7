//! Matrices of 256 MiB times a column, to measure how fast weights are read: on smaller ones the launch dominates.
//!
//! Every quantised type has one in the shape that the rules choose on the device. Where the device can run products
//! with x in int8 limbs, each type has a second one: with limbs if the rules chose floats, with floats if they chose
//! limbs,
//! so that one run compares both. Buffers have sizes and no contents: WebAssembly could not hold
//! them, and only the time counts.

use crate::gguf::GgmlType;
use crate::kernels::caps::Caps;
use crate::kernels::layout::{Matrix, PackedLayout};
use crate::kernels::mat_vec::{MatVec, RULES, Shape, choose, dispatch};
use crate::kernels::pass::{MAX_SEQUENCES, Pass};
use crate::kernels::spec::{BufferId, Dispatch};

/// A product that reads many weights.
#[derive(Debug, Clone)]
pub struct Large {
    /// The variant's id, such as `mat_vec.q4_k.subgroup`.
    pub variant: String,
    /// The type, rows and columns of the matrix: `q4_0 116509x4096`.
    pub name: String,
    /// The dispatch to run.
    pub dispatch: Dispatch,
    /// The buffers and their sizes in bytes, which are multiples of 4.
    pub buffers: [(BufferId, u64); 5],
    /// Bytes of the weights, all of which a run reads.
    pub bytes: u64,
    /// The buffer size that the device would need, where it does not offer it.
    pub needs: Option<String>,
}

impl Large {
    /// A pass.
    pub const PASS: BufferId = BufferId(0);
    /// Bound for inputs that the product does not use.
    pub const DUMMY: BufferId = BufferId(1);
    /// `[COLS]` f32
    pub const X: BufferId = BufferId(2);
    /// The packed matrix.
    pub const WEIGHTS: BufferId = BufferId(3);
    /// `[rows]` f32
    pub const Y: BufferId = BufferId(4);

    /// Bytes of weights to measure with.
    pub const MIN_BYTES: u32 = 256 << 20;

    fn new(caps: &Caps, ty: GgmlType, rows: u32, shape: Shape) -> Self {
        let weights = Matrix::whole(ty, rows, COLS, Self::WEIGHTS);
        let problem = MatVec::new(&weights, Self::X.into(), Self::Y.into());
        let fixed = (Self::PASS.into(), Self::DUMMY.into());
        let dispatch = dispatch(caps, shape, fixed, &problem, &weights.shards[0]);
        let bytes = PackedLayout::new(ty, rows, COLS).bytes();
        let buffers = [
            (Self::PASS, Pass::bytes_of(MAX_SEQUENCES)),
            (Self::DUMMY, 16),
            (Self::X, 4 * u64::from(COLS)),
            (Self::WEIGHTS, bytes),
            (Self::Y, 4 * u64::from(rows)),
        ];
        let most = caps.max_binding.min(caps.max_buffer);
        let needs = (bytes > most).then(|| format!("a buffer of {bytes} bytes, this device binds {most}"));
        let (variant, name) = (dispatch.kernel.id.clone(), format!("{} {rows}x{COLS}", ty.key()));
        Self { variant, name, dispatch, buffers, bytes, needs }
    }
}

/// Columns of every matrix.
const COLS: u32 = 4096;

/// The products for a device with these capabilities, on matrices of at least `min_bytes`.
pub fn large(caps: &Caps, min_bytes: u32) -> Vec<Large> {
    let types = GgmlType::ALL.into_iter().filter(|ty| ty.is_quantised());
    let products = types.flat_map(|ty| {
        // Bytes of a row: a grid comes once, and TQ1_0 grows.
        let [one, two] = [1, 2].map(|rows| PackedLayout::new(ty, rows, COLS).bytes());
        let row_bytes = two - one;
        let rows = u64::from(min_bytes).div_ceil(row_bytes) as u32;
        shapes(caps, ty, rows).into_iter().map(move |shape| Large::new(caps, ty, rows, shape))
    });
    products.collect()
}

/// The shape that the rules choose; and where the device can run both, the same with limbs and floats exchanged.
fn shapes(caps: &Caps, ty: GgmlType, rows: u32) -> Vec<Shape> {
    let chosen = choose(caps, ty, rows, COLS);
    let other = if chosen.limbs {
        Some(choose(&Caps { dot4: false, ..caps.clone() }, ty, rows, COLS))
    } else if caps.subgroups && caps.dot4 {
        // The first of the table: that of tall matrices.
        RULES.iter().map(|rule| rule.shape).find(|shape| shape.limbs)
    } else {
        None
    };
    std::iter::once(chosen).chain(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes.
    const LARGEST_GRID: u64 = 8 << 10;

    fn types() -> impl Iterator<Item = GgmlType> {
        GgmlType::ALL.into_iter().filter(|ty| ty.is_quantised())
    }

    /// A device with large buffers and no optional features.
    fn roomy() -> Caps {
        Caps { max_binding: 1 << 30, max_buffer: 1 << 30, ..Caps::baseline() }
    }

    fn with_limbs(vendor: &str) -> Caps {
        Caps { subgroups: true, subgroup_size: (32, 32), dot4: true, vendor: vendor.into(), ..roomy() }
    }

    fn variants(caps: &Caps) -> Vec<String> {
        large(caps, Large::MIN_BYTES).into_iter().map(|product| product.variant).collect()
    }

    #[test]
    fn every_quantised_type_reads_256_mib_once() {
        let products = large(&roomy(), Large::MIN_BYTES);
        let found: Vec<&str> = products.iter().filter_map(|product| product.name.split(' ').next()).collect();
        assert_eq!(found, types().map(GgmlType::key).collect::<Vec<_>>());
        assert_eq!((products[0].name.as_str(), products[0].bytes), ("q4_0 116509x4096", 116_509 * 4096 / 32 * 18));
        for product in &products {
            let row = product.bytes / (product.buffers[4].1 / 4);
            let most = (256 << 20) + row + LARGEST_GRID;
            assert!((256 << 20..most).contains(&product.bytes), "{}: {}", product.name, product.bytes);
            assert_eq!(product.buffers[3], (Large::WEIGHTS, product.bytes));
            assert_eq!(product.needs, None);
            let used = product.dispatch.buffers.iter().map(|slice| slice.buffer);
            assert!(used.clone().all(|id| product.buffers.iter().any(|(other, _)| *other == id)), "{}", product.name);
        }
    }

    #[test]
    fn limbs_are_compared_with_floats_where_the_device_has_both() {
        let count = types().count();
        assert_eq!(variants(&roomy()).len(), count);
        assert_eq!(variants(&Caps { dot4: true, ..roomy() }).len(), count, "limbs need subgroups");
        let chosen = variants(&with_limbs("nvidia"));
        assert_eq!(chosen.len(), 2 * count);
        assert_eq!(chosen[..2], ["mat_vec.q4_0.subgroup.limbs", "mat_vec.q4_0.subgroup"]);
        let forced = variants(&with_limbs("another"));
        assert_eq!(forced.len(), 2 * count);
        assert_eq!(forced[..2], ["mat_vec.q4_0.subgroup", "mat_vec.q4_0.subgroup.limbs"]);
    }

    #[test]
    fn a_device_that_does_not_hold_a_matrix_says_so() {
        let needs = |max_binding, max_buffer| {
            let caps = Caps { max_binding, max_buffer, ..Caps::baseline() };
            large(&caps, Large::MIN_BYTES).into_iter().map(|product| product.needs).collect::<Vec<_>>()
        };
        let bytes = large(&roomy(), Large::MIN_BYTES)[0].bytes;
        assert_eq!(needs(bytes, bytes)[0], None);
        let reason = Some(format!("a buffer of {bytes} bytes, this device binds {}", bytes - 1));
        assert_eq!(needs(bytes - 1, bytes)[0], reason);
        assert_eq!(needs(bytes, bytes - 1)[0], reason);
        assert!(needs(128 << 20, 256 << 20).iter().all(Option::is_some), "the limits that every device has");
        assert!(large(&Caps::baseline(), 1 << 20).iter().all(|product| product.needs.is_none()));
    }
}
