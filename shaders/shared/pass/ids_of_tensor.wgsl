// The ids that `gather` takes: a tensor of them.
@group(0) @binding(1) var<storage, read> ids: array<u32>; // [rows of y]

fn id_of(t: u32) -> u32 {
    // mutant (gather): ids[t] => ids[0]
    return ids[t];
}

fn is_kept(t: u32) -> bool {
    return false;
}
