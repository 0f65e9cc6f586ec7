// As `commit`, where the rows of a pass are a token and a draft of those after it: `accept_drafts` commits what is
// chosen of them. It lies behind the rows.
const COMMITS = false;

fn row_of(output: u32) -> u32 {
    return output;
}

// Whether the row of an output is no draft: nothing is to be chosen then.
fn is_done(output: u32) -> bool {
    return (this_pass.row[row_of(output)].flags & ROW_DONE) != 0u;
}

// Records `token` as chosen after the row of an output. One thread per output calls it once.
fn commit(output: u32, token: u32) {
    // mutant (argmax_merge, sample): this_pass.rows + output => this_pass.rows
    this_pass.row[this_pass.rows + output].token = token;
}
