// Sum and largest over the LANES neighbouring threads that share a row; LANES is a power of two that divides WG_SIZE.
// Each of them gets the result; the scratch may be used again at once. One thread waits for nobody. The kernel declares
// `override WG_SIZE: u32` and `override LANES: u32`.
var<workgroup> lanes_scratch: array<f32, WG_SIZE>;

fn lanes_sum(value: f32, thread: u32) -> f32 {
    if LANES == 1u {
        return value;
    }
    lanes_scratch[thread] = value;
    workgroupBarrier();
    // mutant (softmax, layer_norm, rms_norm_residual, sinkhorn_rows): 0u => 1u
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if thread % LANES < half {
            lanes_scratch[thread] += lanes_scratch[thread + half];
        }
        workgroupBarrier();
    }
    // mutant (softmax, layer_norm, rms_norm_residual): thread - thread % LANES => 0
    let total = lanes_scratch[thread - thread % LANES];
    workgroupBarrier();
    return total;
}

fn lanes_max(value: f32, thread: u32) -> f32 {
    if LANES == 1u {
        return value;
    }
    lanes_scratch[thread] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if thread % LANES < half {
            lanes_scratch[thread] = max(lanes_scratch[thread], lanes_scratch[thread + half]);
        }
        workgroupBarrier();
    }
    // mutant (softmax): let largest = lanes_scratch[thread - thread % LANES]; => let largest = lanes_scratch[thread];
    let largest = lanes_scratch[thread - thread % LANES];
    workgroupBarrier();
    return largest;
}
