//! What was read of texts, kept in memory beside a model on the CPU.

use std::rc::Rc;

use super::store::{End, PrefixCache, Taken, copies_to_keep};
use super::tree::{BLOCK, Found, TextRead};
use crate::runtime::cpu::CpuSession;
use crate::runtime::saved::regions::{begins, bytes_of};
use crate::runtime::session::AdapterUse;

impl CpuSession {
    /// Keeps `text`, all that the session has read, as far as there is room beside what is `wanted`. `asked`: number of
    /// tokens of its prompt.
    pub(in crate::runtime) fn keep_prefix(&mut self, text: TextRead<'_>, asked: usize, wanted: Option<&Found>) {
        self.keep_states();
        let (prefixes, copies, tokens) = (self.prefixes.clone(), self.copies(), text.ids.len());
        prefixes.set_has_ends(!copies.is_empty());
        let (slots, at) = copies_to_keep(&copies, asked);
        if !copies.is_empty() && slots.is_empty() {
            return;
        }
        let of_end = self.states_in(&slots);
        let bytes = [bytes_of(&self.rows_of_tokens(0..1)), bytes_of(&of_end)];
        let Some((path, starts)) = prefixes.new_blocks(text, bytes, wanted) else { return };
        let mut parts: Vec<_> =
            starts.iter().map(|&start| self.rows_of_tokens(start..(start + BLOCK).min(tokens))).collect();
        parts.push(of_end);
        let mut made = Vec::new();
        for regions in &parts {
            let Some(data) = self.copy_out(regions) else {
                prefixes.give_way();
                return;
            };
            made.push(Some(Rc::new(data)).filter(|data| !data.is_empty()));
        }
        let data = made.pop().flatten();
        let blocks = starts.into_iter().zip(made).zip(&parts);
        let blocks = blocks.map(|((start, rows), regions)| (start, rows, bytes_of(regions)));
        prefixes.put(text, path, blocks, (End { tokens, written: tokens, copies: at, data }, bytes[1]));
    }

    /// Goes on from a kept text. Returns its tokens and the adapters that they were read with; `None`, with nothing
    /// changed, where it is no longer kept, or there is no memory for a cache of its length.
    pub(in crate::runtime) fn take_prefix(&mut self, found: &Found) -> Option<(Vec<u32>, Vec<AdapterUse>)> {
        let Taken { ids, with, blocks, end } = self.prefixes.taken(found)?;
        self.begin_text(end.tokens, &end.copies).ok()?;
        self.prefixes.took(found);
        for (data, start, count) in &blocks {
            let taken = (*count).min(end.tokens.saturating_sub(*start));
            if taken == 0 {
                continue;
            }
            let regions = self.rows_of_tokens(*start..start + taken);
            for (region, at) in regions.iter().zip(begins(&regions, [*count, taken])) {
                self.copy_in(region, &data[at as usize..][..region.bytes as usize]);
            }
        }
        let slots: Vec<usize> = (0..end.copies.len()).collect();
        let (regions, mut at) = (self.states_in(&slots), 0);
        for (region, data) in regions.iter().filter_map(|region| Some((region, end.data.as_ref()?))) {
            self.copy_in(region, &data[at..][..region.bytes as usize]);
            at += region.bytes as usize;
        }
        Some((ids, with))
    }
}
