// The ids that `gather` takes: row 0 of the table for every row of a pass, which is `ids`.
#import pass

@group(0) @binding(1) var<storage, read> ids: Pass;

fn id_of(t: u32) -> u32 {
    // mutant (gather): return 0u; => return t;
    return 0u;
}

fn is_kept(t: u32) -> bool {
    // mutant (gather): & ROW_DONE) != 0u => & ROW_DONE) != 0u && t > 0u
    return (ids.row[t].flags & ROW_DONE) != 0u;
}
