//! Numbers in order, with their places: rounds that each merge runs which are sorted.

#[cfg(feature = "harness")]
pub(crate) mod cases;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

/// Threads of a workgroup, each of which moves a pair.
const WG_SIZE: u32 = 256;
/// Up to this many pairs are sorted in one round, which compares each with all others.
const ONE_ROUND: u32 = 1024;
/// Runs of one pair that the first round merges where it is not the only one.
const FIRST_WAYS: u32 = 64;
/// Runs that each further round merges: 3 bisections a pair, and half the rounds that 2 would take.
const WAYS: u32 = 4;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Pairs.
        pub count: u32,
        /// Pairs of a sorted run; the last may be shorter.
        pub run: u32,
        /// Runs that become one.
        pub ways: u32,
    }
}

/// The contract with `shaders/tensor/sort_pairs.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "sort_pairs",
    bindings: &[PARAMS, read("keys"), read("runs"), write("merged")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// The rounds that sort `count` pairs.
fn rounds(count: u32) -> impl Iterator<Item = Params> {
    let ways = if count <= ONE_ROUND { count } else { FIRST_WAYS };
    let next = move |&Params { run, ways, .. }: &Params| {
        let run = run * ways;
        (run < count).then_some(Params { count, run, ways: WAYS })
    };
    std::iter::successors(Some(Params { count, run: 1, ways }), next)
}

/// `keys[j]` and j for all j, by key, those with equal keys by j; and which slice has them. `first` and `second` are
/// room for two words a pair; `second` is not used for [`fits_one_round`] pairs.
pub fn sort_pairs(count: u32, keys: Slice, [first, second]: [Slice; 2]) -> (Vec<Dispatch>, Slice) {
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into())]);
    let grid = grid_1d(count.div_ceil(WG_SIZE));
    let (mut sorted, mut free) = (keys, [second, first]);
    let dispatches = rounds(count).map(|params| {
        free.reverse();
        let dispatch = Dispatch::new(kernel.clone(), &params, &[keys, sorted, free[0]], grid);
        sorted = free[0];
        dispatch
    });
    (dispatches.collect(), sorted)
}

/// Whether the pairs are sorted in one round, without a second slice.
pub fn fits_one_round(count: u32) -> bool {
    count <= ONE_ROUND
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs that a thread looks at in all rounds, at most.
    fn looks(count: u32) -> u32 {
        rounds(count).map(|Params { run, ways, .. }| (ways - 1) * (run.ilog2() + 1)).sum()
    }

    #[test]
    fn work_grows_with_the_square_of_the_logarithm() {
        let seen = [1, 1024, 1025, 4096, 200_000, 4 << 20, 1 << 29].map(|n| (rounds(n).count(), looks(n)));
        assert_eq!(seen, [(1, 0), (1, 1023), (4, 144), (4, 144), (7, 279), (9, 399), (13, 711)]);
        for bits in 11..=29 {
            let last = rounds(1 << bits).last().expect("a round");
            assert!(last.run.checked_mul(WAYS + 1).is_some_and(|end| end >= 1 << bits), "{last:?}");
            assert!(looks(1 << bits) <= 63 + 2 * bits * bits, "2^{bits} pairs: {} looks", looks(1 << bits));
        }
    }
}
