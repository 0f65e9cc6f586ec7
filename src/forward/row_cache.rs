//! A large table of which a pass needs few rows: the device holds some of them in slots, the host knows the others.
//!
//! Before a pass over tokens that the host knows it puts their rows into slots. In decode it does not know them:
//! `find_rows` looks up the token's slot, and where there is none the sequence waits until the host has read the token
//! back. `runtime/gpu/row_cache.rs` does the host's part.

use super::placement::Placer;
use super::weights::{RowRun, Target};
use super::{CHUNK, EVALUATE_CHUNK};
use crate::Result;
use crate::gguf::TensorInfo;
use crate::kernels::caps::{Caps, PerLayerEmbeddings};
use crate::kernels::layout::{Matrix, PackedLayout, max_rows};
use crate::kernels::repack::staging_bytes;
use crate::kernels::spec::Slice;
use crate::model::WeightKey;
use crate::model::program::{Output, Program};

/// What the slots take together, in bytes: one binding on every device.
const SLOT_BYTES: u64 = 128 << 20;

/// Tables from so many bytes on are cached where nobody says otherwise.
const LARGE: u64 = 64 << 20;

/// Bytes of rows that are uploaded at once, at least one row.
const UPLOAD_BYTES: u64 = 4 << 20;

/// A table whose rows are in slots.
#[derive(Debug, Clone)]
pub struct RowCache {
    /// The table.
    pub key: WeightKey,
    /// Its tensor, by its number in the file's table.
    pub tensor: usize,
    /// Rows of the whole table.
    pub rows: u32,
    /// `[slots, cols]`
    pub slots: Matrix,
    /// `[rows]` u32: slot + 1 of each row, 0 for a row in none.
    pub slot_of_row: Slice,
    /// Rows on their way, as the file has them: see [`staging_bytes`].
    pub staging: Slice,
}

impl RowCache {
    /// Tokens of a pass that is sure to have room, at most.
    pub fn chunk(&self) -> usize {
        CHUNK.min(self.slots.rows as usize)
    }

    /// Bytes of a row in the file.
    pub fn row_bytes(&self) -> u64 {
        PackedLayout::new(self.slots.ty, 1, self.slots.cols).raw_row_bytes()
    }

    /// Rows that are uploaded at once.
    pub fn upload_rows(&self) -> usize {
        upload_rows(self.row_bytes(), self.slots.rows) as usize
    }
}

fn upload_rows(row_bytes: u64, slots: u32) -> u64 {
    (UPLOAD_BYTES / row_bytes.max(1)).clamp(1, u64::from(slots).max(1))
}

/// Bytes of the staging buffer of a cache with so many slots.
fn cache_staging_bytes(row_bytes: u64, slots: u32) -> u64 {
    staging_bytes(upload_rows(row_bytes, slots) * row_bytes)
}

/// Whether a table may lie on the host: not one of an embedder, and only where somebody says so beside a block that
/// drafts, whose tokens the host does not know.
pub(super) fn may_cache_rows(program: &Program, caps: &Caps) -> bool {
    let is_asked = caps.per_layer_embeddings != PerLayerEmbeddings::Auto;
    program.output == Output::Logits && (is_asked || program.next.is_none())
}

/// Slots for the rows of a table `[rows, cols]`; `None` where it is to lie on the GPU whole.
fn slots(caps: &Caps, tensor: &TensorInfo, [rows, cols]: [usize; 2]) -> Option<u32> {
    let room = max_rows(tensor.ty, cols as u32, SLOT_BYTES.min(caps.max_binding).min(caps.max_buffer));
    let wanted = match caps.per_layer_embeddings {
        PerLayerEmbeddings::Gpu => return None,
        PerLayerEmbeddings::Auto if tensor.bytes < LARGE => return None,
        PerLayerEmbeddings::Auto => room,
        PerLayerEmbeddings::Slots(slots) => slots.min(room),
    };
    // A pass that evaluates needs as many.
    let least = EVALUATE_CHUNK as u32;
    (room >= least && (wanted.max(least) as usize) < rows).then_some(wanted.max(least))
}

impl Placer<'_> {
    /// Slots for some rows of a table; false where all of them are to lie on the GPU.
    pub(super) fn cached_table(&mut self, key: WeightKey) -> Result<bool> {
        let (index, tensor, spec) = self.tensor(key)?;
        let (ty, name, cols, rows) = (tensor.ty, tensor.name.clone(), spec.cols(), spec.rows());
        let Some(slots) = slots(self.caps, tensor, [rows, cols]) else { return Ok(false) };
        let matrix = self.shards(&name, ty, [slots as usize, cols], slots.into());
        // They begin with the first rows: those of the most usual tokens, where a vocabulary is in order of its merges.
        let run = RowRun { from: 0, rows: slots, matrix: matrix.clone(), row: 0 };
        self.targets[index] = Some(Target::Rows(vec![run]));
        let row_bytes = PackedLayout::new(ty, 1, cols as u32).raw_row_bytes();
        self.weights.row_cache = Some(RowCache {
            key,
            tensor: index,
            rows: rows as u32,
            slots: matrix,
            slot_of_row: self.plan.words("slots of rows", rows),
            staging: self.plan.alloc("rows on their way", cache_staging_bytes(row_bytes, slots)).into(),
        });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::{GgmlType, row_bytes};

    fn table(ty: GgmlType, dims: [u64; 2]) -> TensorInfo {
        let bytes = row_bytes(ty, dims[0]).expect("whole blocks") * dims[1];
        TensorInfo { name: "table".into(), ty, dims: dims.to_vec(), offset: 0, bytes, part: 0 }
    }

    fn slots_for(choice: PerLayerEmbeddings, ty: GgmlType, dims: [u64; 2]) -> Option<u32> {
        let caps = Caps { per_layer_embeddings: choice, ..Caps::baseline() };
        slots(&caps, &table(ty, dims), [dims[1] as usize, dims[0] as usize])
    }

    #[test]
    fn beside_a_block_that_drafts_a_table_is_on_the_host_only_where_that_is_asked_for() {
        let alone = Program::default();
        let drafts = Program { next: Some(Box::default()), ..Program::default() };
        for (choice, expected) in
            [(PerLayerEmbeddings::Auto, [true, false]), (PerLayerEmbeddings::Slots(16), [true; 2])]
        {
            let caps = Caps { per_layer_embeddings: choice, ..Caps::baseline() };
            assert_eq!([&alone, &drafts].map(|program| may_cache_rows(program, &caps)), expected, "{choice:?}");
        }
    }

    #[test]
    fn a_large_table_has_slots_for_a_tenth_of_its_rows() {
        // Gemma 4 E2B: 35 layers of 256 values.
        let e2b = [35 * 256, 262_144];
        let found = slots_for(PerLayerEmbeddings::Auto, GgmlType::Q4_0, e2b).expect("a cache");
        assert!((26_000..26_700).contains(&found), "{found}");
        assert!(PackedLayout::new(GgmlType::Q4_0, found, 35 * 256).bytes() <= SLOT_BYTES);
        assert_eq!(slots_for(PerLayerEmbeddings::Slots(u32::MAX), GgmlType::Q4_0, e2b), Some(found));
        assert_eq!(slots_for(PerLayerEmbeddings::Gpu, GgmlType::Q4_0, e2b), None);
    }

    #[test]
    fn a_small_table_lies_on_the_gpu_and_slots_are_enough_for_a_pass() {
        let small = [192, 335];
        assert_eq!(slots_for(PerLayerEmbeddings::Auto, GgmlType::Q8_0, small), None);
        assert_eq!(
            slots_for(PerLayerEmbeddings::Slots(u32::MAX), GgmlType::Q8_0, small),
            None,
            "it is smaller than the slots"
        );
        assert_eq!(slots_for(PerLayerEmbeddings::Slots(40), GgmlType::Q8_0, small), Some(40));
        assert_eq!(slots_for(PerLayerEmbeddings::Slots(1), GgmlType::Q8_0, small), Some(EVALUATE_CHUNK as u32));
        assert_eq!(slots_for(PerLayerEmbeddings::Slots(335), GgmlType::Q8_0, small), None);
    }
}
