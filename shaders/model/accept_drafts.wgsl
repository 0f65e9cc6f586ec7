// The pass is the last token of each of some sequences, followed by a draft of those after it, and behind the rows lies
// for each of them the token that was chosen there. As long as that is the token of the next row of the sequence, that
// row was right, and its token is accepted, too. Other kernels find in `kept` the rows that were right.
// The draft of the next pass is what followed the last three tokens, or the last two, where they stood last; past the
// end of the text that begins anew. One workgroup goes from sequence to sequence.

#import pass

override WG_SIZE: u32 = 256;
override LENGTH: u32; // ids
override ROWS: u32;   // of the pass
override TEXT: u32;   // words of the text of a sequence

struct Params {
    unused: u32,
}
struct Report {
    unused: vec2<u32>,
    accepted: u32, // tokens; 0 where the sequence had ended before
    drafted: u32,  // rows with a draft
    sequence: Sequence,
    tokens: array<u32, 8>,
}

const THREE = 0x80000000u; // three tokens are alike, not two

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> stops: array<u32>;        // length, then end-of-generation ids
@group(0) @binding(2) var<storage, read_write> texts: array<u32>;  // [sequences, TEXT]
@group(0) @binding(3) var<storage, read_write> counts: array<u32>; // [sequences, LENGTH]
@group(0) @binding(4) var<storage, read_write> this_pass: Pass;
@group(0) @binding(5) var<storage, read_write> reports: array<Report>; // in the order of the sequences' rows
@group(0) @binding(6) var<storage, read_write> kept: Pass;

// A text is the number of ids before position 0, from which drafts may come, too, and then all ids.
var<workgroup> last: u32;          // where the last token is among these ids
var<workgroup> past: u32;          // one past the last row of the sequence
var<workgroup> found: atomic<u32>; // where the last two or three tokens stood before: the place of the last of them

fn ends_text(token: u32) -> bool {
    var ends = false;
    // mutant: i <= stops[0] => i < stops[0]
    for (var i = 1u; i <= stops[0]; i++) {
        ends = ends || stops[i] == token;
    }
    return ends;
}
// Counts the rows of the sequence of row `first` that have drafts, and finds the end of its rows. One thread.
fn drafted(first: u32) -> u32 {
    var rows = 0u;
    // mutant: .sequence == this_pass.row[first].sequence; => .sequence < 99u;
    for (past = first + 1u; past < ROWS && this_pass.row[past].sequence == this_pass.row[first].sequence; past++) {
        rows += 1u - (this_pass.row[past].flags & ROW_DONE);
    }
    return rows;
}

// Commits what was chosen after the rows from `start` on, as far as the draft was right. One thread.
fn accept(start: u32, number: u32) {
    let first = this_pass.row[start];
    let text = first.sequence * TEXT;
    let ids = text + 1u + texts[text]; // of position 0
    reports[number].drafted = drafted(start);
    var count = 0u;
    if (first.flags & ROW_DONE) == 0u {
        var token = first.token;
        var ends = false;
        var goes_on = true;
        while goes_on {
            // mutant: ROWS + start + count => ROWS + count
            token = this_pass.row[ROWS + start + count].token;
            reports[number].tokens[count] = token;
            // mutant: first.position + 1u + count => first.position + count
            texts[ids + first.position + 1u + count] = token;
            if token < LENGTH {
                // mutant: first.sequence * LENGTH + token => token
                counts[first.sequence * LENGTH + token] += 1u;
            }
            count += 1u;
            ends = ends_text(token);
            let next = this_pass.row[min(start + count, ROWS - 1u)];
            // mutant: start + count < past && => start + count < past - 1u &&
            // mutant: && !ends && => &&
            // mutant: && (next.flags & ROW_DONE) == 0u =>
            goes_on = start + count < past && !ends && next.token == token && (next.flags & ROW_DONE) == 0u;
        }
        // mutant: .steps + count => .steps + 1u
        let steps = this_pass.sequences[first.sequence].steps + count;
        this_pass.sequences[first.sequence] = Sequence(token, u32(ends), steps, first.position + count);
    }
    reports[number].accepted = count;
    kept.rows = ROWS;
    for (var i = start; i < past; i++) {
        kept.row[i] = this_pass.row[i];
        // mutant: i - start >= count => i - start > count
        if i - start >= count {
            kept.row[i].flags |= ROW_DONE;
        }
    }
    reports[number].sequence = this_pass.sequences[first.sequence];
    last = texts[text] + reports[number].sequence.position;
    // mutant: atomicStore(&found, 0u); =>
    atomicStore(&found, 0u);
}

// Looks for the last tokens before they came last, `end`. All threads.
fn look(text: u32, end: u32, lane: u32) {
    // mutant: j = lane + 1u; => j = lane + 2u;
    // mutant: j < end; => j + 1u < end;
    for (var j = lane + 1u; j < end; j += WG_SIZE) {
        if texts[text + j] == texts[text + end] && texts[text + j - 1u] == texts[text + end - 1u] {
            // mutant: j > 1u && texts[text + j - 2u] == texts[text + end - 2u] => false
            let has_three = j > 1u && texts[text + j - 2u] == texts[text + end - 2u];
            atomicMax(&found, select(j, j | THREE, has_three));
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) lane: u32) {
    var start = 0u;
    // mutant: number < ROWS && => number < 1u &&
    for (var number = 0u; number < ROWS && start < ROWS; number++) {
        if lane == 0u {
            accept(start, number);
        }
        storageBarrier();
        let end = workgroupUniformLoad(&last);
        let owner = this_pass.row[start].sequence;
        let text = owner * TEXT + 1u;
        look(text, end, lane);
        workgroupBarrier();
        let place = atomicLoad(&found);
        let sequence = reports[number].sequence;
        let next = workgroupUniformLoad(&past); // a barrier: rows are written below
        storageBarrier();
        if start + lane < next {
            var row = Row(sequence.token, sequence.position + lane, owner, min(sequence.done, ROW_DONE));
            if lane > 0u {
                let before = place & ~THREE;
                // mutant: % (end - before) => % 8u
                row.token = texts[text + before + 1u + (lane - 1u) % (end - before)];
                // mutant: place == 0u || row.token >= LENGTH => place == 0u
                row.flags = select(row.flags, ROW_DONE, place == 0u || row.token >= LENGTH);
            }
            this_pass.row[start + lane] = row;
        }
        start = next;
    }
}
