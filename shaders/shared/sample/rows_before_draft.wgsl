// What the rows before that of an output mean for its token, in passes of the last token of a sequence, which is
// counted, and a draft of those after it. The kernel binds `this_pass`.

fn steps_of(sequence: u32, output: u32) -> u32 {
    // mutant (sample, sample_candidates): steps + output => steps
    return this_pass.sequences[sequence].steps + output;
}

fn times_before(output: u32, id: u32) -> u32 {
    var times = 0u;
    // mutant (penalties): i <= output => i < output
    for (var i = 1u; i <= output; i++) {
        // mutant (penalties): 1u, this_pass.row[i].token == id => 1u, this_pass.row[1].token == id
        times += select(0u, 1u, this_pass.row[i].token == id);
    }
    return times;
}
