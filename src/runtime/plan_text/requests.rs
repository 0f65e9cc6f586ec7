//! The chapters about what requests bring (windows, adapters, rows of tables, masks), and about ends that come early.

use std::cell::Cell;
use std::rc::Rc;

use super::drafts::predicted;
use super::fake::{FakeGpu, chapter};
use super::{lanes, model};
use crate::forward::{CHUNK, Room};
use crate::kernels::sample::{mask_words, words_of_mask};
use crate::model::InputRows;
use crate::runtime::gpu::adapters::GpuAdapter;
use crate::runtime::pass::{Chunks, Reading, Sizes, Until};
use crate::runtime::passes::prefill::{Ends, Lengths, prefill};
use crate::runtime::passes::request::{Rows, prepare, write_rows};
use crate::runtime::passes::states;
use crate::runtime::plan::Plan;
use crate::{Error, ErrorCode};

/// Dispatches of the list that reads prompts.
const PREFILL: usize = 40;

impl FakeGpu {
    /// Writes what a request needs before its prompt is read.
    fn prepare(&mut self, number: usize) {
        let mut plan = Plan::default();
        prepare(&mut plan, self.model.layout(), (number, self.schedule.text(number)), true);
        self.text += &self.model.lines(&plan);
    }

    /// Allows a few ids for the next token, and asks for that.
    fn mask(&mut self, number: usize) {
        let vocab = self.model.config.vocab as u32;
        let part = self.model.buffers.sample.mask.after((number * mask_words(vocab) * 4) as u64);
        let words = words_of_mask(Some(&[0b1010]), vocab);
        let text = self.schedule.text(number);
        text.write(part, bytemuck::cast_slice(&words).to_vec());
        text.ask();
    }

    /// Reads a prompt as the runtime does, each pass in two submits. Where `is_cancelled`, the request ends after the
    /// first submit of the second pass. Returns how many tokens are read.
    fn read(&mut self, number: usize, reading: &mut Reading<'_>, is_cancelled: bool) {
        let (stop, held) = (Cell::new(false), InputRows::default());
        let (ids, first) = (reading.ids, reading.next());
        self.drain();
        self.schedule.leave_pass();
        self.say(&format!("text {number} reads {} tokens at {first}", ids.len()));
        for chunk in Chunks::new(reading, Sizes { most: CHUNK, single: 0 }, Until::stopped(&stop)) {
            let (position, rows) = (reading.next(), chunk.rows.clone());
            let (layout, text) = (self.model.layout(), &mut self.schedule.texts[number]);
            let mut written = Plan::default();
            let rows = Rows { ids: &ids[rows], position, keeps: false, least: 1 };
            write_rows(&mut written, layout, (number, text), rows, &held);
            let of = Lengths { embeddings: 1, prefill: PREFILL, kept: PREFILL - 3, is_exact: true };
            let mut found = prefill(layout, (number, &chunk), &[], (Ends::Caches, of));
            written.append(found.pass.before);
            found.pass.before = written;
            let mut is_whole = true;
            for (part, submit) in found.pass.cut(PREFILL, 2).enumerate() {
                self.say(&format!("submit {part} of the pass at {position}"));
                self.text += &self.model.lines(&submit.plan);
                stop.set(is_cancelled && position > first);
                if stop.get() && part == 0 {
                    is_whole = false;
                    break;
                }
            }
            let mut then = found.always;
            let positions = &mut self.schedule.texts[number].positions;
            positions.moved_states(is_whole.then_some(position + chunk.rows.len()));
            if is_whole {
                reading.done = chunk.rows.end;
                states::keep(&mut then, self.model.layout(), number, positions);
            }
            self.text += &self.model.lines(&then);
        }
        self.schedule.text(number).has_read(reading.next());
    }
}

/// What requests bring, and ends that come early.
pub(super) fn write(text: &mut String) {
    windows(text);
    adapters(text);
    missing_rows(text);
    lost_devices(text);
    cancelled(text);
    masks(text);
}

/// Windows slide: a layer with one keeps a ring, which never grows.
fn windows(text: &mut String) {
    let gpu = FakeGpu::new(model!("gpt-oss-mxfp4"), Room { allocated: 1024, ..Room::one(4000) });
    chapter(text, "sliding windows: rings stay as they are where caches grow", gpu, |gpu| {
        let caches: Vec<_> = gpu.model.buffers.cache.iter().map(|layer| (layer.heads, layer.window)).collect();
        for (number, (heads, window)) in caches.into_iter().enumerate() {
            let kind = if heads.ring { format!("a ring for a window of {window}") } else { "whole".into() };
            gpu.say(&format!("layer {number}: {} positions, {kind}", heads.capacity));
        }
        gpu.begin(0, 1023, 3);
        gpu.go(3);
        gpu.rewind(0, 1000);
        gpu.rewind(0, 500);
    });
}

/// Texts with and without an adapter.
fn adapters(text: &mut String) {
    let gpu = FakeGpu::new(model!("llama-f32"), lanes(64, 2));
    chapter(text, "two texts, one of which has an adapter from its position 4 on", gpu, |gpu| {
        gpu.schedule.text(0).adapters = vec![(Rc::new(GpuAdapter::empty(7, 2)), 0.5, 4)];
        gpu.prepare(0);
        gpu.begin(0, 5, 2);
        gpu.prepare(1);
        gpu.begin(1, 9, 3);
        gpu.go(1);
        gpu.rest(0, "leaves");
        gpu.go(2);
    });
}

/// A text that waits for a row of a table while another one goes on.
fn missing_rows(text: &mut String) {
    let gpu = FakeGpu::new(model!("llama-f32"), lanes(64, 2));
    chapter(text, "a row of a table is missing: one of two texts waits, and its passes run again", gpu, |gpu| {
        gpu.begin(0, 5, 2);
        gpu.begin(1, 9, 2);
        gpu.lacks = Some(1);
        gpu.go(3);
        gpu.take(0);
        gpu.take(1);
    });
}

/// A lost device, and a session on another one.
fn lost_devices(text: &mut String) {
    let gpu = FakeGpu::new(model!("llama-f32"), lanes(64, 2));
    chapter(text, "the device is lost with passes in flight, and one of two texts goes on with another", gpu, |gpu| {
        gpu.begin(0, 5, 3);
        gpu.begin(1, 9, 3);
        gpu.go(1);
        gpu.say(&format!("the device is lost with {} passes in flight", gpu.answers.len()));
        gpu.schedule.lose(&Error::new(ErrorCode::DeviceLost, "the device is lost"));
        gpu.take(0);
        gpu.take(1);
        let another = FakeGpu::new(model!("llama-f32"), lanes(64, 2));
        gpu.text = std::mem::replace(gpu, another).text;
        gpu.say("another session of the model: text 0 has 6 tokens of its prompt and 1 of its answer");
        gpu.read(0, &mut Reading::new(&[7; 6], 0), false);
        gpu.schedule.text(0).steps = 1;
        gpu.begin(0, 6, 2);
        gpu.go(1);
    });
}

/// Requests that end while their prompt is read, and while their answer is in flight.
fn cancelled(text: &mut String) {
    let gpu = FakeGpu::new(model!("lfm2-bf16"), lanes(2000, 2));
    chapter(
        text,
        "a request is cancelled in the second pass of its prompt, and the next has the same prompt",
        gpu,
        |gpu| {
            let ids = [7; 1100];
            let mut reading = Reading::new(&ids, 0);
            gpu.read(1, &mut reading, true);
            gpu.rest(1, "is cancelled");
            gpu.rewind(1, 512);
            gpu.read(1, &mut Reading::new(&ids[512..], 512), false);
        },
    );
    let gpu = FakeGpu::new(model!("llama-f32"), lanes(64, 2));
    chapter(text, "one of two requests is cancelled with passes in flight, and another takes its place", gpu, |gpu| {
        gpu.begin(0, 5, 5);
        gpu.begin(1, 9, 3);
        gpu.go(1);
        gpu.rest(1, "is cancelled");
        gpu.go(1);
        gpu.read(1, &mut Reading::new(&[7; 4], 0), false);
        gpu.begin(1, 4, 1);
        gpu.go(1);
        gpu.take(0);
        gpu.take(1);
    });
}

/// Grammars: a mask for each token, tokens drawn ahead, and tokens that are refused.
fn masks(text: &mut String) {
    let gpu = FakeGpu::new(model!("llama-f32"), lanes(64, 2));
    chapter(text, "masks: a token under each, then three tokens of which two are ahead and refused", gpu, |gpu| {
        gpu.begin(1, 9, 0);
        gpu.mask(1);
        gpu.go(1);
        gpu.mask(1);
        (0..2).for_each(|_| gpu.schedule.text(1).ask());
        gpu.go(1);
        gpu.take(1);
        gpu.rest(1, "refuses what is in flight");
        gpu.read(1, &mut Reading::new(&[7], 11), false);
        gpu.begin(1, 12, 0);
        gpu.mask(1);
        gpu.go(1);
        gpu.take(1);
    });
    let gpu = FakeGpu::new(model!("lfm2-bf16"), Room::one(200).with_drafts(true));
    chapter(text, "drafts under a mask where states are recurrent: states are kept before each pass", gpu, |gpu| {
        gpu.mask(0);
        predicted(gpu, 0);
        gpu.schedule.text(0).is_exact = true;
        gpu.go(1);
        gpu.take(0);
        gpu.go(1);
    });
}
