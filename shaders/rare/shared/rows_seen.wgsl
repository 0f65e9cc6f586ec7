// Which rows of its input a row of a batch sees. The kernel has `this_pass`, `inputs`, `params.window` and
// `params.causal`.

// First row that row i sees, and one past the last. Neither shrinks from one row to the next.
fn seen(i: u32) -> vec2<u32> {
    // mutant (attention_batch, attention_batch_tiled): this_pass.row[i].sequence => 0u
    let input = inputs[this_pass.row[i].sequence];
    // mutant (attention_batch, attention_batch_tiled): params.window / 2u => params.window / 2u - 1u
    let before = select(params.window / 2u, params.window - 1u, params.causal != 0u);
    let after = select(params.window / 2u, 0u, params.causal != 0u);
    let is_bounded = params.window != 0u;
    // mutant (attention_batch, attention_batch_tiled): i - min(i, before), is_bounded => i - min(i, before), false
    let first = max(input.x, select(0u, i - min(i, before), is_bounded));
    // mutant (attention_batch, attention_batch_tiled): is_bounded || params.causal != 0u => is_bounded
    return vec2<u32>(first, min(input.y, select(input.y, i + after + 1u, is_bounded || params.causal != 0u)));
}
