//! Rows shared out to threads, for the kernels that `#import lanes`: `LANES` neighbouring threads take one row.

use super::spec::{Grid, grid_1d};

/// Threads per workgroup.
pub const WG_SIZE: u32 = 256;

/// Threads for a row of `width` values: few for short rows, so that a workgroup takes many of them.
pub const fn lanes(width: u32) -> u32 {
    if width <= 128 { 16 } else { WG_SIZE }
}

/// Workgroups for `rows` rows of `lanes` threads each.
pub fn grid(rows: u32, lanes: u32) -> Grid {
    grid_1d(rows.div_ceil(WG_SIZE / lanes))
}

/// The constants `WG_SIZE` and `LANES`.
pub fn constants(lanes: u32) -> [(&'static str, f64); 2] {
    [("WG_SIZE", WG_SIZE.into()), ("LANES", lanes.into())]
}

/// The part of a variant's id that says how many threads a row takes.
pub const fn name(lanes: u32) -> &'static str {
    match lanes {
        1 => "thread",
        WG_SIZE => "workgroup",
        _ => "lanes",
    }
}
