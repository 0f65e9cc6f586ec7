//! The chapter about batches of texts, images and sounds.

use std::fmt::Write as _;

use super::Model;
use crate::forward::{Buffers, Room};
use crate::model::EncoderInput;
use crate::runtime::passes::batch::{self, Batches, ImagePass};
use crate::runtime::plan::Place;

impl Model {
    /// An embedder or an encoder with room for `rows` rows.
    fn for_batches(file: &[u8], rows: usize) -> Self {
        let mut model = Self::new(file, Room::one(rows));
        model.plan.buffers.clear();
        model.buffers = Buffers::for_batches(&model.program, rows, &mut model.plan);
        model
    }

    fn batches(&self) -> Batches<'_> {
        let pooled = self.buffers.places.head.of(self.program.output_activation()).slice;
        Batches { layout: self.layout(), small: 32, pooled, embeddings: 1 }
    }
}

/// The passes of an embedder, and of encoders of images and sounds.
pub(super) fn write(text: &mut String) {
    let model = Model::for_batches(include_bytes!("../../../tests/fixtures/embedders/nomic-bert-f16.gguf"), 64);
    let to = Place::from(model.buffers.dummy);
    for inputs in [&[&[3, 4, 5][..], &[6, 7]][..], &[&[3; 40]]] {
        let plan = batch::texts(model.batches(), inputs, &[], to).whole();
        let _ = writeln!(text, "a batch of {} inputs\n{}", inputs.len(), model.lines(&plan).trim_end());
    }
    for (name, file) in [
        ("an image", include_bytes!("../../../tests/fixtures/encoders/qwen3vl-deep.gguf").as_slice()),
        ("a sound", include_bytes!("../../../tests/fixtures/encoders/gemma4a.gguf")),
    ] {
        let model = Model::for_batches(file, 64);
        let input = EncoderInput::sample(&model.program, 20);
        let ImagePass { stages, pass } = batch::image(model.batches(), &input, Place::from(model.buffers.dummy));
        let _ = writeln!(text, "{name} of {} rows", input.rows);
        for (number, plan) in stages.iter().chain([&pass.whole()]).enumerate() {
            let _ = writeln!(text, "  submit {number}\n{}", model.lines(plan).trim_end());
        }
    }
}
