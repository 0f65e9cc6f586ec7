// Sums over the PARTS consecutive threads that share a column; all threads of the workgroup call it together. Calls
// that follow each other use the halves of the scratch in turn, so that one barrier is enough. Needs no feature.
override SCRATCH: u32 = 2 * WG_SIZE;

var<workgroup> scratch: array<vec2<f32>, SCRATCH>;

fn column_sums(sums: vec2<f32>, call: u32, lane: u32) -> vec2<f32> {
    let half = call % 2u * WG_SIZE;
    scratch[half + lane] = sums;
    workgroupBarrier();
    var total = vec2<f32>();
    // mutant (delta_net): i < PARTS => i + 1u < PARTS
    for (var i = 0u; i < PARTS; i++) {
        total += scratch[half + lane / PARTS * PARTS + i];
    }
    return total;
}
