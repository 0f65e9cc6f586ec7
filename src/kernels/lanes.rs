//! How many threads share a row, for the kernels that `#import lanes`: `LANES` neighbouring threads take one row.

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
            let lanes = lanes(width);
            let [x, y, _] = grid(rows, lanes).map(|extent| extent.resolve(1));
            assert!(x.max(y) <= MAX_WORKGROUPS, "{x}×{y} workgroups");
            assert!(u64::from(x) * u64::from(y) * u64::from(WG_SIZE / lanes) >= u64::from(rows), "{rows} rows");
        }
    }
}
