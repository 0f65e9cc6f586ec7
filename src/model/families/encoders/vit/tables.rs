//! What an encoder's program has beside its operations, and what it asks of the file.

use super::super::super::super::WeightKey;
use super::super::super::super::program::{Activation, RopeTable, TensorPart};
use super::Vit;

impl Vit<'_> {
    /// The program's rows of a tensor under a name of its own.
    pub fn part(&mut self, key: WeightKey, part: TensorPart) {
        self.program.parts.insert(key, part);
    }

    /// The index of a rope table.
    pub fn rope_table(&mut self, table: RopeTable) -> usize {
        self.program.rope_table(table)
    }

    /// Further rows for prompts, for a deeper layer of the text model.
    pub fn side(&mut self, rows: Activation) {
        self.program.sides.insert(0, rows);
    }

    /// Whether the file has a tensor.
    pub fn has(&self, key: WeightKey) -> bool {
        self.config.has_tensor(&key.name())
    }

    /// Sets the upper bounds of rows of all stages of the embedding but the last.
    pub fn stage_rows(&mut self, rows: &[usize]) {
        self.program.stage_rows = rows.to_vec();
    }

    /// Values of a row of an activation.
    pub fn width(&self, x: Activation) -> usize {
        self.program.width(x)
    }
}
