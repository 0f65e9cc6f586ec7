//! Every token of a pass by the matrices of the experts that `route` chose: prefill. Entries (a token with one of its
//! experts) are grouped by expert on the GPU, so that an expert's weights are read once per tile of entries.

use super::caps::Caps;
use super::layout::Shard;
use super::mat_vec_experts::{Epilogue, ExpertProduct};
use super::route::Counts;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, params, read, write};
use super::tuned::class_of;

params! {
    /// Per-dispatch numbers of `mat_mul_experts`.
    pub struct Params {
        /// The first expert of the shard.
        pub first_expert: u32,
        /// Experts of the shard.
        pub experts: u32,
    }
}

/// The contract with `shaders/rare/model/expert_tiles.wgsl`.
pub static TILES: KernelSpec = KernelSpec {
    kernel_name: "expert_tiles",
    bindings: &[PARAMS, read("this_pass"), read("routes"), write("plan")],
    params: NoParams::LAYOUT,
    overrides: &["EXPERTS", "TOP", "TILE", "ENTRIES_AT", "HEADS"],
};

/// The contract with `shaders/rare/model/mat_mul_experts.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_mul_experts",
    bindings: &[PARAMS, read("plan"), read("x"), read("w_vec"), read("w_word"), read("bias"), write("y")],
    params: Params::LAYOUT,
    overrides: &[
        "COLS",
        "ROWS",
        "SHARE",
        "X_STRIDE",
        "X_STEP",
        "Y_STRIDE",
        "WG_SIZE",
        "TX",
        "TY",
        "EXPERTS",
        "ENTRIES_AT",
        "PAIRED",
        "GATE",
        "UP",
        "BIAS",
        "BIAS_OF_ENTRIES",
    ],
};

/// The contract with `shaders/rare/model/expert_add.wgsl`.
pub static ADD: KernelSpec = KernelSpec {
    kernel_name: "expert_add",
    bindings: &[PARAMS, read("routes"), read("z"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["TOP", "WIDTH", "Y_STRIDE", "ADD"],
};

/// Threads of a workgroup of `expert_add`, each of which computes one element.
const ADD_WG_SIZE: u32 = 256;

/// Threads of a workgroup: each computes 4 rows for 4 entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Name in the variant's id.
    pub name: &'static str,
    /// Threads along the rows of W.
    pub tx: u32,
    /// Threads along the entries.
    pub ty: u32,
}

impl Tile {
    /// Entries of a tile.
    pub const fn entries(self) -> u32 {
        4 * self.ty
    }
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For at most this many entries of an expert on average.
    pub max_average: u32,
    /// The choice.
    pub tile: Tile,
}

/// 64 rows × 32 entries in 12 KiB of workgroup memory.
const LARGE: Tile = Tile { name: "64x32", tx: 16, ty: 8 };

/// 64 × 16: experts with few entries leave less of a tile empty.
const SMALL: Tile = Tile { name: "64x16", tx: 16, ty: 4 };

/// Which tile runs a pass. The last row holds for everything.
pub static RULES: &[Rule] = &[Rule { max_average: 12, tile: SMALL }, Rule { max_average: u32::MAX, tile: LARGE }];

/// Where the plan of a pass of up to `tokens` rows is, and how it is cut.
#[derive(Debug, Clone, Copy)]
pub struct Tiles {
    /// Sizes.
    pub counts: Counts,
    /// Rows of the largest pass.
    pub tokens: u32,
    /// The result of [`expert_tiles`]: [`Tiles::words`] u32.
    pub plan: Slice,
    /// How its entries are cut.
    pub tile: Tile,
}

impl Tiles {
    /// Words of the plan of a pass of up to `tokens` rows, whatever the tile.
    pub fn words(counts: Counts, tokens: u32) -> u32 {
        let entries = tokens * counts.used;
        4 * (1 + most_tiles(entries, counts.experts, SMALL)) + entries
    }

    /// Cuts passes of up to `tokens` rows as the table says for the largest, or a verdict.
    pub fn new(caps: &Caps, counts: Counts, tokens: u32, plan: Slice) -> Self {
        let Counts { experts, used } = counts;
        let average = (tokens * used).div_ceil(experts);
        let key = format_args!("mat_mul_experts {used}/{experts} x {}", class_of(tokens));
        let tile = caps.tuned.choose(key, RULES, |rule| rule.tile, &|_| true, &|rule| average <= rule.max_average);
        Self { counts, tokens, plan, tile }
    }

    /// Word of the plan where the entries start.
    fn entries_at(&self) -> u32 {
        4 * (1 + most_tiles(self.tokens * self.counts.used, self.counts.experts, self.tile))
    }
}

/// Every expert that has entries may have one tile that is not full.
fn most_tiles(entries: u32, experts: u32, tile: Tile) -> u32 {
    entries / tile.entries() + experts.min(entries)
}

/// Lists the entries of each expert, cut into tiles.
pub fn expert_tiles(pass: Slice, routes: Slice, tiles: &Tiles) -> Dispatch {
    tiles_of(pass, routes, tiles, false)
}

/// The same where entry s of every token is of expert s. `dummy` is bound in the place of routes.
pub fn head_tiles([pass, dummy]: [Slice; 2], tiles: &Tiles) -> Dispatch {
    tiles_of(pass, dummy, tiles, true)
}

fn tiles_of(pass: Slice, routes: Slice, tiles: &Tiles, of_heads: bool) -> Dispatch {
    let constants = [
        ("EXPERTS", f64::from(tiles.counts.experts)),
        ("TOP", tiles.counts.used.into()),
        ("TILE", tiles.tile.entries().into()),
        ("ENTRIES_AT", tiles.entries_at().into()),
        ("HEADS", bool_override(of_heads)),
    ];
    let grid = [Extent::Fixed(1); 3];
    Dispatch::new(Kernel::new(&TILES, &constants), &NoParams::default(), &[pass, routes, tiles.plan], grid)
}

/// The dispatches, one per shard. `problem.epilogue` is not [`Epilogue::Sum`]: [`expert_add`] adds up. x has a row for
/// each token, or with `per_choice` one for each choice. `dummy` is bound where there is no bias.
pub fn mat_mul_experts(dummy: Slice, per_choice: bool, tiles: &Tiles, problem: &ExpertProduct) -> Vec<Dispatch> {
    let shards = problem.weights.shards.iter();
    shards.map(|shard| dispatch(dummy, per_choice, tiles, problem, shard)).collect()
}

fn dispatch(dummy: Slice, per_choice: bool, tiles: &Tiles, problem: &ExpertProduct, shard: &Shard) -> Dispatch {
    let ExpertProduct { counts, weights, epilogue, bias, .. } = *problem;
    debug_assert!(!matches!(epilogue, Epilogue::Sum { .. }), "sums are a kernel of their own");
    let (rows, tile) = (problem.rows(), tiles.tile);
    let mut constants = vec![
        ("COLS", f64::from(weights.cols)),
        ("ROWS", rows.into()),
        ("SHARE", if per_choice { 1.0 } else { counts.used.into() }),
        ("X_STRIDE", problem.x_stride.into()),
        ("X_STEP", problem.of_heads.unwrap_or(0).into()),
        ("Y_STRIDE", problem.y_stride.into()),
        ("WG_SIZE", (tile.tx * tile.ty).into()),
        ("TX", tile.tx.into()),
        ("TY", tile.ty.into()),
        ("EXPERTS", counts.experts.into()),
        ("ENTRIES_AT", tiles.entries_at().into()),
        ("PAIRED", bool_override(epilogue.is_paired())),
        ("GATE", epilogue.gate().into()),
        ("UP", bool_override(matches!(epilogue, Epilogue::Up(_)))),
        ("BIAS", bool_override(bias.is_some())),
        ("BIAS_OF_ENTRIES", problem.bias_of_entries.into()),
    ];
    constants.extend(weights.layout(shard).constants());
    let kernel = Kernel::new(&SPEC, &constants)
        .named(weights.ty.key())
        .named(tile.name)
        .import("weights", weights.ty.format().weights);
    let kernel = match problem.reads_fours() {
        true => kernel.import("columns", "columns_full"),
        false => kernel.named("ragged").import("columns", "columns_ragged"),
    };
    let [first_expert, experts] = problem.experts_of(shard);
    let w = Slice::from(shard.buffer);
    let buffers = [tiles.plan, problem.x, w, w, bias.unwrap_or(dummy), problem.y];
    let outputs = 4 * tile.tx / (1 + u32::from(epilogue.is_paired()));
    let tiles = Extent::Tiles { of_row: counts.used, tile: tile.entries(), most_open: counts.experts };
    let grid = [Extent::Fixed(rows.div_ceil(outputs)), tiles, Extent::Fixed(1)];
    Dispatch::new(kernel, &Params { first_expert, experts }, &buffers, grid)
}

/// Adds up the results z `[tokens, used, width]` f32 of each token's experts with its weights: y `[tokens, y_stride]`
/// f32, with `add` on top of what it holds.
pub fn expert_add(routes: Slice, used: u32, z: (Slice, u32), y: (Slice, u32), add: bool) -> Dispatch {
    let ((z, width), (y, y_stride)) = (z, y);
    let constants =
        [("TOP", f64::from(used)), ("WIDTH", width.into()), ("Y_STRIDE", y_stride.into()), ("ADD", bool_override(add))];
    let grid = [Extent::Fixed(width.div_ceil(ADD_WG_SIZE)), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&ADD, &constants), &NoParams::default(), &[routes, z, y], grid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_a_workgroup_for_every_tile() {
        // All entries on one expert, spread evenly, one more per expert than fills its tiles, and almost none.
        for counts in [vec![1000, 0, 0], vec![333; 3], vec![33; 30], vec![1; 7], vec![0, 65, 1, 64, 0, 31], vec![0, 1]]
        {
            let (entries, experts) = (counts.iter().sum::<u32>(), counts.len() as u32);
            for tile in [SMALL, LARGE] {
                let tiles: u32 = counts.iter().map(|count: &u32| count.div_ceil(tile.entries())).sum();
                let extent = Extent::Tiles { of_row: 1, tile: tile.entries(), most_open: experts };
                assert!(tiles <= extent.resolve(entries), "{counts:?}: {tiles}");
                assert!(extent.resolve(entries) <= most_tiles(entries, experts, tile).max(1));
            }
        }
    }

    #[test]
    fn the_plan_has_room_for_either_tile() {
        for (experts, used, tokens) in [(8, 2, 512), (128, 8, 512), (512, 10, 33), (2, 1, 1), (512, 16, 512)] {
            let counts = Counts { experts, used };
            let plan = Slice::from(super::super::spec::BufferId(0));
            let tiles = Tiles::new(&Caps::baseline(), counts, tokens, plan);
            for tile in [SMALL, LARGE] {
                let tiles = Tiles { tile, ..tiles };
                assert!(tiles.entries_at() + tokens * used <= Tiles::words(counts, tokens), "{counts:?}, {tokens}");
            }
        }
    }
}
