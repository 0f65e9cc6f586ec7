// Result of the last of up to eight steps; see elementwise_few.
fn run_steps() -> vec4<f32> {
    if STEP0 == 0u { return values[0]; }
    values[8] = step_of(STEP0);
    if STEP1 == 0u { return values[8]; }
    values[9] = step_of(STEP1);
    if STEP2 == 0u { return values[9]; }
    values[10] = step_of(STEP2);
    if STEP3 == 0u { return values[10]; }
    values[11] = step_of(STEP3);
    if STEP4 == 0u { return values[11]; }
    values[12] = step_of(STEP4);
    // mutant (elementwise_in_place): if STEP5 == 0u { return values[12]; } => if STEP5 == 0u { return values[11]; }
    if STEP5 == 0u { return values[12]; }
    values[13] = step_of(STEP5);
    if STEP6 == 0u { return values[13]; }
    values[14] = step_of(STEP6);
    if STEP7 == 0u { return values[14]; }
    return step_of(STEP7);
}
