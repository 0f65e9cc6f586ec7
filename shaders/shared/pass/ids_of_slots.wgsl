// The ids that `gather` takes: the slots that `find_rows` left in the rows of a pass. `ids` is the pass itself.
#import pass

@group(0) @binding(1) var<storage, read> ids: Pass;

fn id_of(t: u32) -> u32 {
    // mutant (gather): >> 1u) - 1u => >> 1u)
    return (ids.row[t].flags >> 1u) - 1u;
}

// Whether row t of y stays as it is.
fn is_kept(t: u32) -> bool {
    return (ids.row[t].flags & ROW_DONE) != 0u;
}
