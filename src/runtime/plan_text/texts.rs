//! The chapters about prompts, and about texts that join, leave, grow and fail.

use std::fmt::Write as _;

use super::fake::{FakeGpu, chapter};
use super::{Model, lanes, model};
use crate::forward::Room;
use crate::runtime::pass::Chunk;
use crate::runtime::passes::prefill::{Ends, Lengths, prefill};
use crate::runtime::passes::source;
use crate::runtime::session::Choosing;

/// A pass of a prompt, for each of what may be wanted.
pub(super) fn prompts(text: &mut String) {
    let model = Model::new(model!("gemma3-f16"), Room::one(512));
    let of = Lengths { embeddings: 1, prefill: 40, kept: 37, is_exact: true };
    let choosing = Choosing { greedy: true, biased: true, logits: false };
    for (name, ends) in [("caches", Ends::Caches), ("a token", Ends::Token(choosing)), ("logits", Ends::Logits)] {
        let chunk = Chunk { rows: 0..100, is_single: false, is_last: true };
        let found = prefill(model.layout(), (0, &chunk), &[], (ends, of));
        let _ = writeln!(text, "a prompt of 100 tokens, for {name}");
        let mut plan = found.pass.whole();
        plan.append(found.always);
        text.push_str(&model.lines(&plan));
    }
}

/// Texts that join, leave, grow and fail.
pub(super) fn texts(text: &mut String) {
    let llama = model!("llama-f32");
    chapter(text, "alone, until nobody asks for more", FakeGpu::new(llama, Room::one(64)), |gpu| {
        gpu.begin(0, 5, 6);
        gpu.go(6);
    });
    chapter(
        text,
        "four texts: one joins while two are written, one leaves",
        FakeGpu::new(llama, lanes(64, 4)),
        |gpu| {
            gpu.begin(0, 5, 2);
            gpu.begin(1, 9, 4);
            gpu.go(1);
            gpu.begin(3, 2, 3);
            gpu.go(2);
            gpu.rest(0, "leaves");
            gpu.go(9);
        },
    );
    let small = Room { allocated: 8, ..Room::one(64) };
    chapter(text, "caches that grow", FakeGpu::new(llama, small), |gpu| {
        gpu.begin(0, 7, 3);
        gpu.go(3);
    });
    chapter(
        text,
        "an error ends the texts that need room",
        FakeGpu::new(llama, Room { allocated: 8, ..lanes(64, 2) }),
        |gpu| {
            gpu.begin(0, 3, 2);
            gpu.begin(1, 8, 2);
            gpu.schedule.fail(&crate::Error::invalid_argument("no room"), 8);
            gpu.go(2);
        },
    );
}

/// The source of an encoder-decoder.
pub(super) fn sources(text: &mut String) {
    let model = Model::new(include_bytes!("../../../tests/fixtures/sources/t5-f16.gguf"), lanes(64, 2));
    let Some(found) = source::read(model.layout(), (1, 2), &[3; 40], 12) else { return };
    let mut plan = found.whole();
    source::write_spans(&mut plan, model.layout(), &[0, 40]);
    let _ = writeln!(text, "a source of 40 tokens of the second of two texts\n{}", model.lines(&plan).trim_end());
}
