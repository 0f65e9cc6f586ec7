//! Sorting with little code: each of std's sorts becomes 3 to 10 KB of WebAssembly for each type and order.

/// The numbers from 0 to `count` in an order in which none is less than the one before it; equal ones keep theirs.
/// Takes about n log n comparisons: runs of 1, 2, 4, … are merged.
pub fn sorted_indices(count: usize, is_less: &mut dyn FnMut(usize, usize) -> bool) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..count).collect();
    let mut merged = Vec::with_capacity(count);
    let mut run = 1;
    while run < count {
        merged.clear();
        for start in (0..count).step_by(2 * run) {
            let (middle, end) = ((start + run).min(count), (start + 2 * run).min(count));
            let (mut first, mut second) = (start, middle);
            while first < middle || second < end {
                let takes_second = first == middle || (second < end && is_less(sorted[second], sorted[first]));
                let from = if takes_second { &mut second } else { &mut first };
                merged.push(sorted[*from]);
                *from += 1;
            }
        }
        std::mem::swap(&mut sorted, &mut merged);
        run *= 2;
    }
    sorted
}

/// Sorts small values; equal ones keep their order.
pub fn sort_by<T: Copy>(items: &mut Vec<T>, is_less: impl Fn(T, T) -> bool) {
    let order = sorted_indices(items.len(), &mut |a, b| is_less(items[a], items[b]));
    *items = order.into_iter().map(|index| items[index]).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_items_is_sorted_and_equal_ones_keep_their_order() {
        let mut state = 1u32;
        for count in 0..70usize {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 29
            };
            let mut items: Vec<(u32, usize)> = (0..count).map(|index| (next(), index)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort_by(&mut items, |a, b| a.0 < b.0);
            assert_eq!(items, expected);
        }
    }
}
