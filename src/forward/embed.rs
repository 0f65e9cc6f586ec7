//! Rows of tables: by the token, by what a token is embedded as, or by the position.

use super::{Forward, Lowering};
use crate::kernels::find_rows::find_rows;
use crate::kernels::gather::{gather, gather_places, gather_slots};
use crate::kernels::spec::Dispatch;
use crate::kernels::switch::switch_embeddings;
use crate::model::WeightKey;
use crate::model::program::{Activation, TableRow};

impl Lowering<'_> {
    pub(super) fn embed(&self, table: WeightKey, scale: f32, y: Activation) -> Vec<Dispatch> {
        let Forward { weights, buffers, .. } = self.forward;
        let (pass, y) = (buffers.pass, self.places.of(y).slice);
        match &weights.row_cache {
            Some(cache) if cache.key == table => {
                let find = find_rows(pass, cache.rows, cache.slot_of_row);
                [find].into_iter().chain(gather_slots(pass, &cache.slots, y, scale)).collect()
            }
            _ => match &self.forward.program.switch {
                Some(of) => {
                    let find = switch_embeddings([pass, buffers.dummy], of, y);
                    [find].into_iter().chain(gather_slots(pass, &weights.tables[&table], y, scale)).collect()
                }
                None => gather(pass, &weights.tables[&table], y, scale),
            },
        }
    }

    pub(super) fn embed_place(&self, table: WeightKey, row: TableRow, y: Activation) -> Vec<Dispatch> {
        let Forward { weights, buffers, .. } = self.forward;
        gather_places(buffers.pass, &weights.tables[&table], self.places.of(y).slice, matches!(row, TableRow::First(_)))
    }
}
