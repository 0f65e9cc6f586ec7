// What the rows before that of an output mean for its token, in passes of which each row is of another sequence:
// nothing. The kernel binds `this_pass`.

// Tokens of the sequence that are chosen before that of the output.
fn steps_of(sequence: u32, output: u32) -> u32 {
    // mutant (sample, sample_candidates): .steps; => .steps + 1u;
    return this_pass.sequences[sequence].steps;
}

// How often an id stands in the rows before.
fn times_before(output: u32, id: u32) -> u32 {
    // mutant (penalties): return 0u; => return 1u;
    return 0u;
}
