// The pass is the last token of a sequence and a draft of those after it, and behind each row lies the token that was
// chosen there. As long as that is the token of the next row, the next row was right, and its token is accepted, too.
// Other kernels find in `kept` the rows that were right.
// The draft of the next pass is what followed the last three tokens, or the last two, where they stood last; past the
// end of the text that begins anew. One workgroup.

#import pass

override WG_SIZE: u32 = 256;
override LENGTH: u32; // ids
override ROWS: u32;   // of the pass

struct Params {
    unused: u32,
}

struct Text {
    start: u32,      // ids before position 0: a text that drafts may come from, too
    ids: array<u32>, // and the text by position
}

struct Report {
    rows: u32,
    outputs: u32,
    accepted: u32, // tokens; 0 where the sequence had ended before
    drafted: u32,  // rows with a draft
    sequence: Sequence,
    tokens: array<u32, ROWS_MOST>,
}

const ROWS_MOST = 8u;
const THREE = 0x80000000u; // three tokens are alike, not two

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> stops: array<u32>;         // length, then end-of-generation ids
@group(0) @binding(2) var<storage, read_write> text: Text;
@group(0) @binding(3) var<storage, read_write> counts: array<u32>;  // [sequences, LENGTH]
@group(0) @binding(4) var<storage, read_write> this_pass: Pass;
@group(0) @binding(5) var<storage, read_write> report: Report;
@group(0) @binding(6) var<storage, read_write> kept: Pass;

var<workgroup> last: u32;             // where the last token is in the text
var<workgroup> found: atomic<u32>;    // where the last two or three tokens stood before: the place of the last of them
var<workgroup> tail: array<u32, 3>;   // the last tokens, backwards

fn ends_text(token: u32) -> bool {
    var ends = false;
    // mutant: i <= stops[0] => i < stops[0]
    for (var i = 1u; i <= stops[0]; i++) {
        ends = ends || stops[i] == token;
    }
    return ends;
}

// How many rows have drafts.
fn drafted() -> u32 {
    var rows = 0u;
    for (var i = 1u; i < ROWS; i++) {
        rows += 1u - (this_pass.row[i].flags & ROW_DONE);
    }
    return rows;
}

// Commits what was chosen, as far as the draft was right. One thread.
fn accept() {
    let first = this_pass.row[0];
    var count = 0u;
    if (first.flags & ROW_DONE) == 0u {
        let drafts = drafted();
        var token = first.token;
        var ends = false;
        var goes_on = true;
        while goes_on {
            token = this_pass.row[ROWS + count].token;
            report.tokens[count] = token;
            // mutant: first.position + 1u + count => first.position + count
            text.ids[text.start + first.position + 1u + count] = token;
            if token < LENGTH {
                // mutant: first.sequence * LENGTH + token => token
                counts[first.sequence * LENGTH + token] += 1u;
            }
            count += 1u;
            ends = ends_text(token);
            let next = this_pass.row[min(count, ROWS - 1u)];
            // mutant: count < ROWS && => count < ROWS - 1u &&
            // mutant: && !ends && => &&
            // mutant: && (next.flags & ROW_DONE) == 0u =>
            goes_on = count < ROWS && !ends && next.token == token && (next.flags & ROW_DONE) == 0u;
        }
        // mutant: .steps + count => .steps + 1u
        let steps = this_pass.sequences[first.sequence].steps + count;
        let done = select(0u, ROW_DONE, ends);
        this_pass.sequences[first.sequence] = Sequence(token, done, steps, first.position + count);
        report.drafted = drafts;
    }
    report.accepted = count;
    kept.rows = ROWS;
    for (var i = 0u; i < ROWS; i++) {
        kept.row[i] = this_pass.row[i];
        // mutant: i >= count => i > count
        if i >= count {
            kept.row[i].flags |= ROW_DONE;
        }
    }
    report.sequence = this_pass.sequences[first.sequence];
    last = text.start + report.sequence.position;
    for (var i = 0u; i < 3u; i++) {
        tail[i] = text.ids[last - min(i, last)];
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        accept();
    }
    storageBarrier();
    let end = workgroupUniformLoad(&last);
    // mutant: j = lane + 1u; => j = lane + 2u;
    // mutant: j < end; => j + 1u < end;
    for (var j = lane + 1u; j < end; j += WG_SIZE) {
        if text.ids[j] == tail[0] && text.ids[j - 1u] == tail[1] {
            // mutant: j > 1u && text.ids[j - 2u] == tail[2] => false
            let has_three = j > 1u && text.ids[j - 2u] == tail[2];
            atomicMax(&found, select(j, j | THREE, has_three));
        }
    }
    workgroupBarrier();
    let place = atomicLoad(&found);
    let number = this_pass.row[0].sequence;
    let sequence = report.sequence;
    storageBarrier(); // rows are written below
    // mutant: lane < ROWS => lane < ROWS - 1u
    if lane < ROWS {
        var row = Row(sequence.token, sequence.position + lane, number, min(sequence.done, ROW_DONE));
        if lane > 0u {
            let before = place & ~THREE;
            // mutant: % (end - before) => % 8u
            row.token = text.ids[before + 1u + (lane - 1u) % (end - before)];
            // mutant: place == 0u || row.token >= LENGTH => place == 0u
            if place == 0u || row.token >= LENGTH {
                row.flags = ROW_DONE;
            }
        }
        this_pass.row[lane] = row;
    }
}
