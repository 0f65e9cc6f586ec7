//! An adapter at work in a text, and what a change of adapters leaves of it.

/// An adapter at work in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdapterUse {
    /// Number of the adapter.
    pub id: u32,
    /// Factor of what the adapter adds to the model; never 0.
    pub scale: f32,
    /// The first position at which the adapter works.
    pub from: usize,
}

/// Number of tokens that a text read with adapters `one` can keep where it goes on with `other`: those before the first
/// position at which the two differ.
pub(super) fn positions_kept(one: &[AdapterUse], other: &[AdapterUse]) -> usize {
    let differ = |a: &'_ [AdapterUse], b: &[AdapterUse]| {
        a.iter().filter(|of| !b.contains(of)).map(|of| of.from).min().unwrap_or(usize::MAX)
    };
    differ(one, other).min(differ(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_counts_for_the_adapters_it_was_read_with() {
        let of = |id: u32, scale: f32, from: usize| AdapterUse { id, scale, from };
        let plain: [AdapterUse; 0] = [];
        let one = [of(1, 1.0, 0)];
        assert_eq!(positions_kept(&plain, &plain), usize::MAX);
        assert_eq!(positions_kept(&one, &one), usize::MAX);
        assert_eq!((positions_kept(&one, &plain), positions_kept(&plain, &one)), (0, 0));
        assert_eq!(positions_kept(&one, &[of(1, 0.5, 0)]), 0, "another scale");
        assert_eq!(positions_kept(&one, &[of(2, 1.0, 0)]), 0, "another adapter");
        assert_eq!(positions_kept(&plain, &[of(3, 1.0, 7)]), 7, "before its invocation it is not at work");
        assert_eq!(positions_kept(&[of(1, 1.0, 0), of(3, 1.0, 7)], &[of(1, 1.0, 0), of(3, 1.0, 9)]), 7);
    }
}
