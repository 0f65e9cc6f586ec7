//! A digest that notices accidents: FNV-1a with 64 bits. It says whether bytes are the same, not who made them.

/// Of no bytes.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The digest of what `before` is the digest of, followed by `bytes`.
#[inline(never)]
pub fn extend(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The digest of `bytes`.
pub fn digest(bytes: &[u8]) -> u64 {
    extend(EMPTY, bytes)
}

#[cfg(test)]
mod tests {
    use super::{digest, extend};

    #[test]
    fn it_is_fnv_1a() {
        // From the reference: http://www.isthe.com/chongo/tech/comp/fnv/
        assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(extend(digest(b"foo"), b"bar"), digest(b"foobar"));
    }
}
