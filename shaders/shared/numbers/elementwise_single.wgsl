// Result of the only step; that of no step is input 0. A file of its own, since compilers take long over the chain.
fn run_steps() -> vec4<f32> {
    if STEP0 == 0u { return values[0]; }
    // mutant (elementwise, elementwise_in_place): return step_of(STEP0); => return values[0];
    return step_of(STEP0);
}
