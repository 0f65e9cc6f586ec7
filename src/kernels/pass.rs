//! The rows of a pass, on the GPU: which token goes through the layers at which position of which sequence.
//!
//! The host writes header and rows before a pass over tokens that it knows. The last kernel of sampling writes the row
//! of each sequence's next token, so that decode passes of the same rows follow each other without the host. What it
//! reads back per token is the start of the header: with one sequence [`READ_BYTES`].

/// Sequences that one pass may hold rows of.
pub const MAX_SEQUENCES: usize = 8;

/// Flag of a row whose sequence has ended or waits: kernels leave everything as it is.
pub const ROW_DONE: u32 = 1;

/// [`Sequence::done`] of a sequence whose token has its row of a table in no slot: nothing changes until the host has
/// put it there and writes the pass anew.
pub const WAITING: u32 = 2;

/// A sequence as the last sampled token left it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Sequence {
    /// The last sampled token.
    pub token: u32,
    /// 1 once an end-of-generation token was sampled, or [`WAITING`]; later passes then leave the sequence as it is.
    pub done: u32,
    /// Tokens sampled so far: the random generator's counter.
    pub steps: u32,
    /// Position of that token, which is the number of tokens in the cache before it.
    pub position: u32,
}

/// One token on its way through the layers.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Row {
    /// The token's id.
    pub token: u32,
    /// Tokens of its sequence before it.
    pub position: u32,
    /// Which part of the caches is its own, and which of [`Header::sequences`].
    pub sequence: u32,
    /// 0 or [`ROW_DONE`]; above that bit slot + 1 of the token's row, where [`find_rows`](super::find_rows) ran.
    pub flags: u32,
}

/// The header in front of the rows.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Header {
    /// Rows of this pass.
    pub rows: u32,
    /// How many of the last rows have logits: 1, or all.
    pub outputs: u32,
    /// The first of rows that see each other, those of an image, and one past the last, with or without
    /// [`Pass::SEEN_IN_WINDOWS`]: in a pass of many rows of one sequence.
    pub seen: [u32; 2],
    /// By the number that rows say.
    pub sequences: [Sequence; MAX_SEQUENCES],
}

/// Bytes at the start of a pass up to and with the first sequence: what a run of one sequence reads back per token.
pub const READ_BYTES: u64 = (std::mem::offset_of!(Header, sequences) + size_of::<Sequence>()) as u64;

/// Mirrors `Pass` in `shaders/shared/pass/pass.wgsl`; `tests/contract.rs` compares them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// The sequences.
    pub header: Header,
    /// In any order; those of one sequence with ascending positions.
    pub rows: Vec<Row>,
}

impl Pass {
    /// A flag in the end of [`Header::seen`]: the rows see each other only in layers with a sliding window.
    pub const SEEN_IN_WINDOWS: u32 = 1 << 31;

    /// Bytes before [`Header::seen`].
    pub const SEEN: u64 = std::mem::offset_of!(Header, seen) as u64;

    /// A chunk of a prompt: `tokens` at `position` and after of a sequence, with logits for the last.
    pub fn chunk(sequence: u32, position: u32, tokens: &[u32]) -> Self {
        let row = |(position, &token)| Row { token, position, sequence, flags: 0 };
        let rows: Vec<Row> = (position..).zip(tokens).map(row).collect();
        let header = Header { rows: rows.len() as u32, outputs: 1, ..Header::default() };
        Self { header, rows }
    }

    /// The same with rows that change nothing behind its own, so that there are `rows` at least.
    pub fn padded_to(mut self, rows: usize) -> Self {
        if let Some(&last) = self.rows.last() {
            self.rows.resize(self.rows.len().max(rows), Row { flags: ROW_DONE, ..last });
            self.header.rows = self.rows.len() as u32;
        }
        self
    }

    /// A decode pass: logits for every row. Rows of one sequence see those before them.
    pub fn decode(rows: &[Row]) -> Self {
        let count = rows.len() as u32;
        Self { header: Header { rows: count, outputs: count, ..Header::default() }, rows: rows.to_vec() }
    }

    /// A batch of inputs, each with positions of its own: the sequence of a row is the number of its input. Nothing of
    /// it is in a cache, and nothing is sampled from it.
    pub fn batch(inputs: &[&[u32]]) -> Self {
        let rows = inputs.iter().zip(0..).flat_map(|(ids, sequence)| {
            let row = move |(position, &token): (u32, &u32)| Row { token, position, sequence, flags: 0 };
            (0..).zip(ids.iter()).map(row)
        });
        let rows: Vec<Row> = rows.collect();
        let header = Header { rows: rows.len() as u32, outputs: inputs.len() as u32, ..Header::default() };
        Self { header, rows }
    }

    /// First row of each input of a batch, and one past its last.
    pub fn spans(inputs: &[&[u32]]) -> Vec<[u32; 2]> {
        let ends = inputs.iter().scan(0, |end, ids| {
            let first = *end;
            *end += ids.len() as u32;
            Some([first, *end])
        });
        ends.collect()
    }

    /// The pass that operations on tensors bind: rows that are not done, as many as a kernel asks for.
    pub fn constant() -> Self {
        let header = Header { rows: u32::MAX, ..Header::default() };
        Self { header, rows: vec![Row::default(); MAX_SEQUENCES] }
    }

    /// As the GPU has it.
    pub fn bytes(&self) -> Vec<u8> {
        [bytemuck::bytes_of(&self.header), bytemuck::cast_slice(&self.rows)].concat()
    }

    /// Bytes of a pass of `rows` rows.
    pub fn bytes_of(rows: usize) -> u64 {
        (size_of::<Header>() + rows * size_of::<Row>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_pass_is_read_back_per_token() {
        assert_eq!(READ_BYTES, 32);
        assert_eq!(size_of::<Header>(), 144);
        assert_eq!(Pass::chunk(2, 7, &[5, 6]).bytes().len() as u64, Pass::bytes_of(2));
    }

    #[test]
    fn rows_of_a_chunk_follow_each_other() {
        let Pass { header, rows } = Pass::chunk(2, 7, &[5, 6]);
        assert_eq!((header.rows, header.outputs), (2, 1));
        assert_eq!(rows[1], Row { token: 6, position: 8, sequence: 2, flags: 0 });
    }

    #[test]
    fn rows_that_pad_a_pass_are_done() {
        let Pass { header, rows } = Pass::chunk(2, 7, &[5, 6]).padded_to(4);
        assert_eq!((header.rows, header.outputs, rows.len()), (4, 1, 4));
        assert!(rows[2..].iter().all(|row| row.flags == ROW_DONE && row.position == 8));
        assert_eq!(Pass::chunk(2, 7, &[5, 6]).padded_to(1).header.rows, 2);
    }
}
