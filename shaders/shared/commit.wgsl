// Records `token` as the sampled one and as input of the next pass of the same command list. One thread calls it once.
// The kernel binds `state` and `tokens` for writing, and `stops` (its length, then end-of-generation ids).
fn commit(token: u32) {
    // mutant (argmax_merge): state.position += state.count => state.position += 1u
    state.position += state.count;
    state.count = 1u;
    state.token = token;
    // mutant (argmax_merge, sample): state.steps += 1u; => state.steps = 1u;
    state.steps += 1u;
    tokens[0] = token;
    // mutant (argmax_merge, sample): i <= stops[0] => i < stops[0]
    for (var i = 1u; i <= stops[0]; i++) {
        if stops[i] == token {
            state.done = 1u;
        }
    }
}
