// The rows of a pass and what is known of their sequences; kernels/pass.rs says who writes which word.
struct Sequence {
    token: u32,    // the last sampled token
    done: u32,     // 1 once an end-of-generation token was sampled, WAITING while a row of a table is missing
    steps: u32,    // tokens sampled so far
    position: u32, // of that token
}

struct Row {
    token: u32,
    position: u32, // tokens of its sequence before it
    sequence: u32, // which cache, and which of `sequences`
    flags: u32,    // ROW_DONE or 0; above it, where find_rows ran, slot + 1 of the token's row
}

struct Pass {
    rows: u32,    // rows of this pass
    outputs: u32, // how many of the last rows have logits: 1, or all
    seen_first: u32, // rows that see each other, those of an image, from this one on
    seen_end: u32,   // one past the last of them; with SEEN_IN_WINDOWS layers without a window take no note of it
    sequences: array<Sequence, 8>,
    row: array<Row>,
}

const ROW_DONE = 1u; // the sequence of the row has ended or waits: everything stays as it is
const SEEN_IN_WINDOWS = 0x80000000u;
const WAITING = 2u;
