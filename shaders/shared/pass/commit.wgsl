// Whether `commit` makes a token part of the text.
const COMMITS = true;

// Row of the pass that an output belongs to.
fn row_of(output: u32) -> u32 {
    // mutant (argmax_merge): this_pass.rows - this_pass.outputs => 0u
    return this_pass.rows - this_pass.outputs + output;
}

// Whether the sequence of an output has ended: nothing is to change then.
fn is_done(output: u32) -> bool {
    return (this_pass.row[row_of(output)].flags & ROW_DONE) != 0u;
}

// Records `token` as sampled from an output of the pass and as a row of the next pass of the same command list. One
// thread per output calls it once. The kernel binds `this_pass` for writing, and `stops` (its length, then
// end-of-generation ids).
fn commit(output: u32, token: u32) {
    let row = this_pass.row[row_of(output)];
    var ends = 0u;
    // mutant (argmax_merge, sample): i <= stops[0] => i < stops[0]
    for (var i = 1u; i <= stops[0]; i++) {
        if stops[i] == token {
            ends = ROW_DONE;
        }
    }
    // mutant (argmax_merge): row.position + 1u => row.position
    let position = row.position + 1u;
    // mutant (argmax_merge): Row(token, => Row(row.token,
    // mutant (argmax_merge): row.sequence, ends) => row.sequence, 0u)
    this_pass.row[output] = Row(token, position, row.sequence, ends);
    // mutant (argmax_merge, sample): .steps + 1u => .steps
    let steps = this_pass.sequences[row.sequence].steps + 1u;
    this_pass.sequences[row.sequence] = Sequence(token, ends, steps, position);
    // With several outputs every row is one, and nothing is written here: no thread reads what another writes.
    if this_pass.rows > this_pass.outputs {
        // mutant (argmax_merge): this_pass.outputs; => this_pass.outputs + 1u;
        this_pass.rows = this_pass.outputs;
    }
}
