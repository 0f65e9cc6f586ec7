//! The chapters about speculative decoding, and about recurrent states.

use std::fmt::Write as _;

use super::fake::{FakeGpu, chapter};
use super::{Model, lanes, model};
use crate::forward::Room;
use crate::runtime::draft::block::Block;
use crate::runtime::draft::drafting::Drafting;
use crate::runtime::draft::drafts::Drafts;
use crate::runtime::draft::model::FakeDraftModel;
use crate::runtime::pass::Chunk;
use crate::runtime::passes::prefill::{Ends, Lengths, prefill};
use crate::runtime::passes::states;
use crate::runtime::plan::Plan;

/// Begins a text that predicts its next tokens.
pub(super) fn predicted(gpu: &mut FakeGpu, number: usize) {
    gpu.schedule.allow_drafts();
    gpu.begin(number, 20, 20);
    let mut drafts = Drafts::new(Drafting::Prompt, (&[], 0), &[5; 20]);
    drafts.read(&[5; 20], 0);
    while !drafts.is_on() {
        drafts.took(5, 0.0);
    }
    gpu.schedule.text(number).drafts = Some(drafts);
}

/// Speculative decoding, and recurrent states.
pub(super) fn drafts(text: &mut String) {
    let llama = model!("llama-f32");
    let drafts = Room::one(200).with_drafts(true);
    chapter(text, "drafts from the text", FakeGpu::new(llama, drafts), |gpu| {
        predicted(gpu, 0);
        gpu.go(2);
    });
    chapter(text, "drafts where states are recurrent", FakeGpu::new(model!("lfm2-bf16"), drafts), |gpu| {
        predicted(gpu, 0);
        gpu.go(1);
    });
    chapter(text, "states copied while a text is written", FakeGpu::new(model!("lfm2-bf16"), lanes(200, 2)), |gpu| {
        gpu.begin(1, 63, 3);
        gpu.go(3);
        let mut plan = Plan::default();
        states::restore(&mut plan, gpu.model.layout(), 1, Some(0));
        gpu.say("text 1 goes back to its checkpoint");
        gpu.text += &gpu.model.lines(&plan);
    });
    chapter(
        text,
        "three texts, two of which have drafts",
        FakeGpu::new(model!("lfm2-bf16"), lanes(200, 3).with_drafts(true)),
        |gpu| {
            predicted(gpu, 0);
            gpu.begin(1, 7, 9);
            predicted(gpu, 2);
            gpu.go(1);
            gpu.rest(0, "leaves");
            gpu.go(1);
        },
    );
}

/// Drafts of a model and of a block of the model, for one text and several.
pub(super) fn drafters(text: &mut String) {
    let of_model = |gpu: &mut FakeGpu, number: usize| {
        gpu.schedule.allow_drafts();
        gpu.begin(number, 20, 2);
        let mut drafts = Drafts::new(Drafting::Model, (&[], 0), &[5; 20]).by_model(true);
        drafts.read(&[5; 20], 0);
        drafts.took(5, 0.0);
        gpu.schedule.text(number).drafts = Some(drafts);
    };
    let gpu = FakeGpu::new(model!("llama-f32"), lanes(200, 3).with_drafts(true));
    let pass = gpu.model.buffers.pass;
    let gpu = gpu.with_drafter(FakeDraftModel { pass });
    chapter(text, "three texts, for two of which a model drafts: a step for both at a time", gpu, |gpu| {
        of_model(gpu, 0);
        gpu.begin(1, 7, 1);
        of_model(gpu, 2);
        gpu.go(1);
        gpu.rest(0, "leaves");
        gpu.schedule.text(2).ask();
        gpu.go(0);
    });
    for (name, room) in [("one text", Room::one(200)), ("two texts", lanes(200, 2))] {
        let room = room.with_drafts(true);
        let gpu = FakeGpu::of(Model::with(model!("qwen35-f32"), room, true)).with_drafter(Block { context: 200 });
        chapter(text, &format!("{name} for which a block of the model drafts"), gpu, |gpu| {
            (0..room.sequences).for_each(|number| of_model(gpu, number));
            gpu.go(0);
        });
    }
    let model = Model::with(model!("qwen35-f32"), lanes(200, 2).with_drafts(true), true);
    let chunk = Chunk { rows: 0..100, is_single: false, is_last: false };
    let of = Lengths { embeddings: 1, prefill: 40, kept: 40, is_exact: true };
    let found = prefill(model.layout(), (1, &chunk), &[], (Ends::Caches, of));
    let _ = writeln!(text, "a prompt of 100 tokens of the second text, which the block goes along");
    text.push_str(&model.lines(&found.pass.before));
    text.push_str(&model.lines(&found.pass.then));
}
