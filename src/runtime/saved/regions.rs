//! Which bytes of which buffers a saved session has.

use super::head::{PART, SEAL};
use crate::kernels::spec::BufferId;

/// A range of bytes of a buffer. A session is saved as its regions one after the other, cut into parts of [`PART`]
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    pub buffer: BufferId,
    pub offset: u64,
    pub bytes: u64,
}

/// The regions of part `number`; none after the last part.
pub fn part(regions: &[Region], number: u32) -> Vec<Region> {
    let (mut before, mut left) = (u64::from(number) * PART, PART);
    let mut part = Vec::new();
    for region in regions {
        let skipped = before.min(region.bytes);
        before -= skipped;
        let bytes = left.min(region.bytes - skipped);
        left -= bytes;
        if bytes > 0 {
            part.push(Region { offset: region.offset + skipped, bytes, ..*region });
        }
    }
    part
}

/// Number of bytes of all regions.
pub fn bytes_of(regions: &[Region]) -> u64 {
    regions.iter().map(|region| region.bytes).sum()
}

/// Number of bytes of all parts with their digests.
pub fn bytes_of_parts(regions: &[Region]) -> u64 {
    let bytes = bytes_of(regions);
    bytes + bytes.div_ceil(PART) * SEAL
}

/// Where the rows of `taken` tokens, which `regions` have, begin in data in which each region has rows of `count`
/// tokens.
pub fn begins(regions: &[Region], [count, taken]: [usize; 2]) -> Vec<u64> {
    let whole = |region: &Region| region.bytes / taken as u64 * count as u64;
    regions.iter().scan(0, |at, region| Some(std::mem::replace(at, *at + whole(region)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_large_as_may_be_and_hold_all_bytes_in_order() {
        let region = |buffer, bytes| Region { buffer: BufferId(buffer), offset: 0, bytes };
        let regions = [region(1, PART / 2), region(2, 0), region(3, 2 * PART), region(4, 12)];
        let parts: Vec<_> = (0..4).map(|number| part(&regions, number)).collect();
        let bytes: Vec<_> = parts.iter().map(|part| bytes_of(part)).collect();
        assert_eq!(bytes, [PART, PART, PART / 2 + 12, 0]);
        assert_eq!(bytes_of_parts(&regions), 2 * PART + PART / 2 + 12 + 3 * SEAL);
        let third: Vec<_> = parts.iter().flatten().filter(|region| region.buffer.0 == 3).collect();
        let found: Vec<_> = third.iter().map(|region| (region.offset, region.bytes)).collect();
        assert_eq!(found, [(0, PART / 2), (PART / 2, PART), (3 * PART / 2, PART / 2)]);
        assert!(part(&regions, u32::MAX).is_empty());
    }
}
