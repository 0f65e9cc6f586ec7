// Result of the last of up to sixteen steps; see elementwise_few.
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
    if STEP5 == 0u { return values[12]; }
    values[13] = step_of(STEP5);
    if STEP6 == 0u { return values[13]; }
    values[14] = step_of(STEP6);
    if STEP7 == 0u { return values[14]; }
    values[15] = step_of(STEP7);
    if STEP8 == 0u { return values[15]; }
    values[16] = step_of(STEP8);
    if STEP9 == 0u { return values[16]; }
    values[17] = step_of(STEP9);
    if STEP10 == 0u { return values[17]; }
    values[18] = step_of(STEP10);
    if STEP11 == 0u { return values[18]; }
    values[19] = step_of(STEP11);
    if STEP12 == 0u { return values[19]; }
    // mutant (elementwise): values[20] = step_of(STEP12); => values[19] = step_of(STEP12);
    values[20] = step_of(STEP12);
    if STEP13 == 0u { return values[20]; }
    values[21] = step_of(STEP13);
    if STEP14 == 0u { return values[21]; }
    values[22] = step_of(STEP14);
    if STEP15 == 0u { return values[22]; }
    return step_of(STEP15);
}
