// The ids that `gather` takes: those of the rows of a pass. `ids` is the pass itself.
#import pass

@group(0) @binding(1) var<storage, read> ids: Pass;

fn id_of(t: u32) -> u32 {
    // mutant (gather): ids.row[t] => ids.row[0]
    return ids.row[t].token;
}

// Whether row t of y stays as it is.
fn is_kept(t: u32) -> bool {
    // mutant (gather): & ROW_DONE) != 0u => & ROW_DONE) != 0u && t > 0u
    return (ids.row[t].flags & ROW_DONE) != 0u;
}
