// Sum over a workgroup of WG_SIZE threads (a power of two). Every thread gets the sum; the scratch may be used again
// at once. The kernel declares `WG_SIZE`, a u32.
var<workgroup> reduce_scratch: array<f32, WG_SIZE>;

fn workgroup_sum(value: f32, lane: u32) -> f32 {
    reduce_scratch[lane] = value;
    workgroupBarrier();
    // mutant (norm, rope_kv): half > 0u; half /= 2u => half > 1u; half /= 2u
    // mutant (norm, rope_kv): half = WG_SIZE / 2u => half = WG_SIZE / 4u
    for (var half = WG_SIZE / 2u; half > 0u; half /= 2u) {
        if lane < half {
            reduce_scratch[lane] += reduce_scratch[lane + half];
        }
        workgroupBarrier();
    }
    let total = reduce_scratch[0];
    workgroupBarrier();
    return total;
}
