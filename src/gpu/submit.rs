//! What goes to the queue: dispatches in one compute pass, a copy after them, and bytes from the host.

use std::ops::Range;

use super::buffer::Buffer;
use super::device::Device;
use super::list::CommandList;

/// Dispatches of a list that go into one submit.
#[derive(Clone)]
pub struct Part<'a> {
    /// The list.
    pub list: &'a CommandList,
    /// Which of its dispatches.
    pub range: Range<usize>,
}

impl<'a> From<&'a CommandList> for Part<'a> {
    fn from(list: &'a CommandList) -> Self {
        Self { list, range: 0..list.len() }
    }
}

/// Bytes from one buffer to another.
#[derive(Clone)]
pub struct Copy<'a> {
    /// From where.
    pub source: &'a Buffer,
    /// Its first byte.
    pub source_offset: u64,
    /// To where.
    pub target: &'a Buffer,
    /// Its first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// Compute passes and copies that are submitted together, in order.
pub struct Commands(wgpu::CommandEncoder);

impl Commands {
    /// Adds a compute pass of these parts, over `tokens` tokens.
    pub fn run<'a>(&mut self, parts: impl IntoIterator<Item = Part<'a>>, tokens: u32) {
        self.run_each(parts.into_iter().map(|part| (part, tokens)));
    }

    /// Adds a compute pass of these parts, each over a number of tokens of its own.
    pub fn run_each<'a>(&mut self, parts: impl IntoIterator<Item = (Part<'a>, u32)>) {
        let mut pass = self.0.begin_compute_pass(&Default::default());
        parts.into_iter().for_each(|(Part { list, range }, tokens)| list.replay_part(range, &mut pass, tokens));
    }

    /// Adds a copy.
    pub fn copy(&mut self, Copy { source, source_offset, target, offset, bytes }: &Copy<'_>) {
        self.0.copy_buffer_to_buffer(source, *source_offset, target, *offset, Some(*bytes));
    }
}

impl Device {
    /// One submit of what `add` adds.
    pub fn submit_all(&self, add: impl FnOnce(&mut Commands)) {
        let mut commands = Commands(self.raw.create_command_encoder(&Default::default()));
        add(&mut commands);
        self.queue.submit([commands.0.finish()]);
    }

    /// One submit: the parts in one compute pass over `tokens` tokens, then the copy.
    pub fn submit<'a>(&self, parts: impl IntoIterator<Item = Part<'a>>, tokens: u32, copy: Option<&Copy<'_>>) {
        self.submit_all(|commands| {
            commands.run(parts, tokens);
            copy.into_iter().for_each(|copy| commands.copy(copy));
        });
    }

    /// Copies, in order with what is submitted before and after.
    pub fn copy<'a>(&self, copies: impl IntoIterator<Item = Copy<'a>>) {
        self.submit_all(|commands| copies.into_iter().for_each(|copy| commands.copy(&copy)));
    }

    /// Writes bytes, in order with what is submitted before and after. WebGPU writes whole words: up to three zeros
    /// follow the last byte.
    pub fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) {
        let (words, rest) = bytes.split_at(bytes.len() & !3);
        self.queue.write_buffer(buffer, offset, words);
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            self.queue.write_buffer(buffer, offset + words.len() as u64, &last);
        }
    }
}
