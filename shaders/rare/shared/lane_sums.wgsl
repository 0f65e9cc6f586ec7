// Sums over groups of LANES threads that follow each other, LANES a power of two: `sums[g * LANES]` is that of group g,
// which every thread may read. The kernel declares WG_SIZE and LANES.
var<workgroup> sums: array<f32, WG_SIZE>;

fn sum_lanes(value: f32, lane: u32) {
    sums[lane] = value;
    workgroupBarrier();
    // mutant (lora, lora_experts): half > 0u; half /= 2u => half > 1u; half /= 2u
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if lane % LANES < half {
            sums[lane] += sums[lane + half];
        }
        workgroupBarrier();
    }
}
