// What the rows before that of an output mean for its token, in passes of the last token of each sequence, which is
// counted, and a draft of those after it. The kernel binds `this_pass`.

// The row of the last token of an output's sequence.
fn first_of(output: u32) -> u32 {
    let sequence = this_pass.row[output].sequence;
    var first = output;
    // mutant (sample, penalties): .sequence == sequence { => .sequence < 99u {
    while first > 0u && this_pass.row[first - 1u].sequence == sequence {
        first -= 1u;
    }
    return first;
}

fn steps_of(sequence: u32, output: u32) -> u32 {
    // mutant (sample, sample_candidates): steps + output - first_of(output) => steps
    return this_pass.sequences[sequence].steps + output - first_of(output);
}

fn times_before(output: u32, id: u32) -> u32 {
    var times = 0u;
    // mutant (penalties): i <= output => i < output
    for (var i = first_of(output) + 1u; i <= output; i++) {
        // mutant (penalties): 1u, this_pass.row[i].token == id => 1u, this_pass.row[2].token == id
        times += select(0u, 1u, this_pass.row[i].token == id);
    }
    return times;
}
