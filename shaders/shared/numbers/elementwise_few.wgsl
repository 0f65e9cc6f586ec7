// Result of the last of up to four steps. Compilers put all operations in the place of each step before they see which
// there are, so that as many steps as may be are several times as long in the compiler.
fn run_steps() -> vec4<f32> {
    if STEP0 == 0u { return values[0]; }
    values[8] = step_of(STEP0);
    if STEP1 == 0u { return values[8]; }
    values[9] = step_of(STEP1);
    // mutant (elementwise_in_place): values[9] => values[8]
    if STEP2 == 0u { return values[9]; }
    values[10] = step_of(STEP2);
    if STEP3 == 0u { return values[10]; }
    return step_of(STEP3);
}
