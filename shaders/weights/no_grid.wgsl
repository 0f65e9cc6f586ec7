// For types without a grid.
fn stage_grid(thread: u32) {}
