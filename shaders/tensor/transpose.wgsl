// y[i…] = x[i… in another order of axes]: any permutation; transpose_tiled is for those
// whose reads of x would be far apart.
// One thread writes one word of y, a workgroup WG_SIZE.

#import strided_copy

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: copy_word( => copy_word(1u +
    // mutant: (group.y * groups.x + group.x) => group.x
    copy_word((group.y * groups.x + group.x) * WG_SIZE + lane);
}
