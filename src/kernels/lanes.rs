//! How many threads share a row, for the kernels that `#import lanes`: `LANES` neighbouring threads take one row.

use super::caps::Caps;
use super::spec::{Grid, grid_1d};

/// Threads per workgroup, at most.
pub const WG_SIZE: u32 = 256;

/// Threads for a row of `width` values: few for short rows, so that a workgroup takes many of them.
pub const fn lanes(caps: &Caps, width: u32) -> u32 {
    match width {
        _ if caps.software => 1,
        0..=128 => 16,
        _ => WG_SIZE,
    }
}

/// Threads of a workgroup: where each takes a row they need not be many.
const fn wg_size(lanes: u32) -> u32 {
    if lanes == 1 { 64 } else { WG_SIZE }
}

/// Workgroups for `rows` rows of `lanes` threads each.
pub fn grid(rows: u32, lanes: u32) -> Grid {
    grid_1d(rows.div_ceil(wg_size(lanes) / lanes))
}

/// The constants `WG_SIZE` and `LANES`.
pub fn constants(lanes: u32) -> [(&'static str, f64); 2] {
    [("WG_SIZE", wg_size(lanes).into()), ("LANES", lanes.into())]
}

/// The part of a variant's id that says how many threads a row takes.
pub const fn name(lanes: u32) -> &'static str {
    match lanes {
        1 => "thread",
        4 => "quad",
        WG_SIZE => "workgroup",
        _ => "lanes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::MAX_WORKGROUPS;

    #[test]
    fn grids_cover_all_rows() {
        for (rows, width) in [(1, 1), (100_000, 3), (100_000, 257), (1_050_000, 1), (16_777_217, 128), (9_000_000, 200)]
        {
            for software in [false, true] {
                let lanes = lanes(&Caps { software, ..Caps::baseline() }, width);
                let [x, y, _] = grid(rows, lanes).map(|extent| extent.resolve(1));
                assert!(x.max(y) <= MAX_WORKGROUPS, "{x}×{y} workgroups");
                assert!(u64::from(x) * u64::from(y) * u64::from(wg_size(lanes) / lanes) >= u64::from(rows), "{rows}");
            }
        }
    }
}
