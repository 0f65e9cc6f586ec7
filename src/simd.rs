//! Numbers of a SIMD vector: those of WebAssembly, and arrays elsewhere, with the same results to the last bit.
//!
//! The loops that take the time of the CPU path use these. In the package, the compiler vectorises no loop by itself
//! (`tools/modules.mjs`), since it would do so with hundreds of others, where size counts.

use std::iter::zip;

pub use vectors::{Bytes, F32x4, I32x4};

/// Numbers of an [`F32x4`].
const LANES: usize = 4;

/// `y += factor · x`, as far as both go.
pub fn add_scaled(y: &mut [f32], factor: f32, x: &[f32]) {
    let count = y.len().min(x.len());
    let (y, x) = (&mut y[..count], &x[..count]);
    let ((y, y_rest), (x, x_rest)) = (y.as_chunks_mut::<LANES>(), x.as_chunks::<LANES>());
    let factors = F32x4::splat(factor);
    zip(y, x).for_each(|(y, x)| *y = F32x4::new(y).add_products(factors, F32x4::new(x)).to_array());
    zip(y_rest, x_rest).for_each(|(y, x)| *y += factor * x);
}

/// `y *= x`, as far as both go.
pub fn multiply(y: &mut [f32], x: &[f32]) {
    let count = y.len().min(x.len());
    let (y, x) = (&mut y[..count], &x[..count]);
    let ((y, y_rest), (x, x_rest)) = (y.as_chunks_mut::<LANES>(), x.as_chunks::<LANES>());
    zip(y, x).for_each(|(y, x)| *y = F32x4::new(y).times(F32x4::new(x)).to_array());
    zip(y_rest, x_rest).for_each(|(y, x)| *y *= x);
}

/// `y *= factor`
pub fn scale(y: &mut [f32], factor: f32) {
    let (chunks, rest) = y.as_chunks_mut::<LANES>();
    chunks.iter_mut().for_each(|y| *y = F32x4::new(y).times(F32x4::splat(factor)).to_array());
    rest.iter_mut().for_each(|y| *y *= factor);
}

/// The numbers of little-endian f16, as many as both have.
#[expect(clippy::redundant_closure, reason = "unlike the function itself, it is inlined")]
pub fn widen_f16(bytes: &[u8], out: &mut [f32]) {
    widen(bytes, out, |bytes| F32x4::from_f16(bytes));
}

/// The same of bf16.
#[expect(clippy::redundant_closure, reason = "unlike the function itself, it is inlined")]
pub fn widen_bf16(bytes: &[u8], out: &mut [f32]) {
    widen(bytes, out, |bytes| F32x4::from_bf16(bytes));
}

#[inline(always)]
fn widen(bytes: &[u8], out: &mut [f32], read: impl Fn([u8; 2 * LANES]) -> F32x4) {
    let ((bytes, bytes_rest), (out, out_rest)) = (bytes.as_chunks(), out.as_chunks_mut::<LANES>());
    zip(bytes, out).for_each(|(bytes, out)| *out = read(*bytes).to_array());
    if !out_rest.is_empty() {
        let (mut last, count) = ([0; 2 * LANES], bytes_rest.len().min(2 * out_rest.len()));
        last[..count].copy_from_slice(&bytes_rest[..count]);
        out_rest[..count / 2].copy_from_slice(&read(last).to_array()[..count / 2]);
    }
}

#[cfg(target_arch = "wasm32")]
mod vectors {
    use core::arch::wasm32::{
        f32x4_add, f32x4_convert_i32x4, f32x4_mul, f32x4_splat, f32x4_sub, i16x8_extend_high_i8x16,
        i16x8_extend_high_u8x16, i16x8_extend_low_i8x16, i16x8_extend_low_u8x16, i32x4_add, i32x4_dot_i16x8, i32x4_eq,
        i32x4_splat, i64x2_splat, u8x16_splat, u16x8_extend_high_u8x16, u16x8_extend_low_u8x16, u16x8_shl, u16x8_shr,
        u32x4_extend_high_u16x8, u32x4_extend_low_u16x8, u32x4_shl, u32x4_splat, v128, v128_and, v128_or,
    };

    use bytemuck::cast;

    /// The difference between the exponents of f32 and f16, as a factor.
    const MORE: f32 = f32::from_bits((127 + 112) << 23);

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub struct Bytes(v128);

    impl Bytes {
        #[inline(always)]
        pub fn new(bytes: &[u8; 16]) -> Self {
            Self(cast(*bytes))
        }

        /// `self >> shift & mask`, where the mask leaves nothing of a neighbour.
        #[inline(always)]
        pub fn field(self, shift: u32, mask: u8) -> Self {
            Self(v128_and(u16x8_shr(self.0, shift), u8x16_splat(mask)))
        }

        /// `self | high << shift`, where no bit leaves its byte.
        #[inline(always)]
        pub fn with_high(self, high: Self, shift: u32) -> Self {
            Self(v128_or(self.0, u16x8_shl(high.0, shift)))
        }

        /// Adds their products with `x` to `sum`, the bytes being unsigned.
        #[inline(always)]
        pub fn products(self, x: &[i16; 16], sum: I32x4) -> I32x4 {
            let [low, high] = cast::<_, [v128; 2]>(*x);
            let sum = i32x4_add(sum.0, i32x4_dot_i16x8(i16x8_extend_low_u8x16(self.0), low));
            I32x4(i32x4_add(sum, i32x4_dot_i16x8(i16x8_extend_high_u8x16(self.0), high)))
        }

        /// The same, the bytes being signed.
        #[inline(always)]
        pub fn signed_products(self, x: &[i16; 16], sum: I32x4) -> I32x4 {
            let [low, high] = cast::<_, [v128; 2]>(*x);
            let sum = i32x4_add(sum.0, i32x4_dot_i16x8(i16x8_extend_low_i8x16(self.0), low));
            I32x4(i32x4_add(sum, i32x4_dot_i16x8(i16x8_extend_high_i8x16(self.0), high)))
        }

        /// `scale · (byte − zero) − minimum`, the bytes being unsigned.
        #[inline(always)]
        pub fn scaled(self, zero: f32, scale: f32, minimum: f32) -> [f32; 16] {
            let [low, high] = [u16x8_extend_low_u8x16(self.0), u16x8_extend_high_u8x16(self.0)];
            let four = |words: v128| {
                let centred = f32x4_sub(f32x4_convert_i32x4(words), f32x4_splat(zero));
                cast::<_, [f32; 4]>(f32x4_sub(f32x4_mul(centred, f32x4_splat(scale)), f32x4_splat(minimum)))
            };
            cast([
                four(u32x4_extend_low_u16x8(low)),
                four(u32x4_extend_high_u16x8(low)),
                four(u32x4_extend_low_u16x8(high)),
                four(u32x4_extend_high_u16x8(high)),
            ])
        }
    }

    /// Four integers.
    #[derive(Clone, Copy)]
    pub struct I32x4(v128);

    impl I32x4 {
        #[inline(always)]
        pub fn zero() -> Self {
            Self(i32x4_splat(0))
        }
    }

    /// Four floats.
    #[derive(Clone, Copy)]
    pub struct F32x4(v128);

    impl F32x4 {
        #[inline(always)]
        pub fn zero() -> Self {
            Self(f32x4_splat(0.0))
        }

        #[inline(always)]
        pub fn new(values: &[f32; 4]) -> Self {
            Self(cast(*values))
        }

        #[inline(always)]
        pub fn splat(value: f32) -> Self {
            Self(f32x4_splat(value))
        }

        /// Four little-endian f16.
        #[inline(always)]
        pub fn from_f16(bytes: [u8; 8]) -> Self {
            let bits = u32x4_extend_low_u16x8(i64x2_splat(i64::from_le_bytes(bytes)));
            let size = u32x4_shl(v128_and(bits, u32x4_splat(0x7fff)), 13);
            let exponent = u32x4_splat(0x7c00);
            let is_endless = i32x4_eq(v128_and(bits, exponent), exponent);
            let finite = f32x4_mul(size, f32x4_splat(MORE));
            let endless = v128_and(v128_or(size, u32x4_splat(0xff << 23)), is_endless);
            let sign = u32x4_shl(v128_and(bits, u32x4_splat(0x8000)), 16);
            Self(v128_or(v128_or(finite, endless), sign))
        }

        /// Four little-endian bf16.
        #[inline(always)]
        pub fn from_bf16(bytes: [u8; 8]) -> Self {
            Self(u32x4_shl(u32x4_extend_low_u16x8(i64x2_splat(i64::from_le_bytes(bytes))), 16))
        }

        #[inline(always)]
        pub fn plus(self, other: Self) -> Self {
            Self(f32x4_add(self.0, other.0))
        }

        #[inline(always)]
        pub fn times(self, other: Self) -> Self {
            Self(f32x4_mul(self.0, other.0))
        }

        /// Adds `a · b`.
        #[inline(always)]
        pub fn add_products(self, a: Self, b: Self) -> Self {
            Self(f32x4_add(self.0, f32x4_mul(a.0, b.0)))
        }

        /// Adds `scale · values`.
        #[inline(always)]
        pub fn add_scaled(self, values: I32x4, scale: f32) -> Self {
            Self(f32x4_add(self.0, f32x4_mul(f32x4_convert_i32x4(values.0), f32x4_splat(scale))))
        }

        #[inline(always)]
        pub fn to_array(self) -> [f32; 4] {
            cast(self.0)
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod vectors {
    use std::array::from_fn;

    use half::{bf16, f16};

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub struct Bytes([u8; 16]);

    impl Bytes {
        pub fn new(bytes: &[u8; 16]) -> Self {
            Self(*bytes)
        }

        /// `self >> shift & mask`, where the mask leaves nothing of a neighbour.
        pub fn field(self, shift: u32, mask: u8) -> Self {
            Self(self.0.map(|byte| byte >> shift & mask))
        }

        /// `self | high << shift`, where no bit leaves its byte.
        pub fn with_high(self, high: Self, shift: u32) -> Self {
            Self(from_fn(|i| self.0[i] | high.0[i] << shift))
        }

        /// Adds their products with `x` to `sum`, the bytes being unsigned.
        pub fn products(self, x: &[i16; 16], sum: I32x4) -> I32x4 {
            Self::of(self.0.map(i16::from), x, sum)
        }

        /// The same, the bytes being signed.
        pub fn signed_products(self, x: &[i16; 16], sum: I32x4) -> I32x4 {
            Self::of(self.0.map(|byte| i16::from(byte.cast_signed())), x, sum)
        }

        /// `scale · (byte − zero) − minimum`, the bytes being unsigned.
        pub fn scaled(self, zero: f32, scale: f32, minimum: f32) -> [f32; 16] {
            self.0.map(|byte| (f32::from(byte) - zero) * scale - minimum)
        }

        fn of(values: [i16; 16], x: &[i16; 16], sum: I32x4) -> I32x4 {
            let pairs = values.as_chunks().0.iter().zip(x.as_chunks().0);
            pairs.fold(sum, |sum, (values, x)| sum.add_products(values, x))
        }
    }

    /// Four integers.
    #[derive(Clone, Copy)]
    pub struct I32x4([i32; 4]);

    impl I32x4 {
        pub fn zero() -> Self {
            Self([0; 4])
        }

        /// Adds `a[2i] · b[2i] + a[2i + 1] · b[2i + 1]` to lane i.
        fn add_products(self, a: &[i16; 8], b: &[i16; 8]) -> Self {
            let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
            Self(from_fn(|lane| self.0[lane] + product(2 * lane) + product(2 * lane + 1)))
        }
    }

    /// Four floats.
    #[derive(Clone, Copy)]
    pub struct F32x4([f32; 4]);

    impl F32x4 {
        pub fn zero() -> Self {
            Self([0.0; 4])
        }

        pub fn new(values: &[f32; 4]) -> Self {
            Self(*values)
        }

        pub fn splat(value: f32) -> Self {
            Self([value; 4])
        }

        /// Four little-endian f16.
        pub fn from_f16(bytes: [u8; 8]) -> Self {
            Self(from_fn(|lane| f16::from_le_bytes([bytes[2 * lane], bytes[2 * lane + 1]]).to_f32()))
        }

        /// Four little-endian bf16.
        pub fn from_bf16(bytes: [u8; 8]) -> Self {
            Self(from_fn(|lane| bf16::from_le_bytes([bytes[2 * lane], bytes[2 * lane + 1]]).to_f32()))
        }

        pub fn plus(self, other: Self) -> Self {
            Self(from_fn(|lane| self.0[lane] + other.0[lane]))
        }

        pub fn times(self, other: Self) -> Self {
            Self(from_fn(|lane| self.0[lane] * other.0[lane]))
        }

        /// Adds `a · b`.
        pub fn add_products(self, a: Self, b: Self) -> Self {
            Self(from_fn(|lane| self.0[lane] + a.0[lane] * b.0[lane]))
        }

        /// Adds `scale · values`.
        pub fn add_scaled(self, values: I32x4, scale: f32) -> Self {
            Self(from_fn(|lane| self.0[lane] + values.0[lane] as f32 * scale))
        }

        pub fn to_array(self) -> [f32; 4] {
            self.0
        }
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::{add_scaled, multiply, scale, widen_bf16, widen_f16};

    #[test]
    fn rests_of_vectors_are_done_and_no_more() {
        for count in 0..10 {
            let x: Vec<f32> = (0..12).map(|i| i as f32 + 1.0).collect();
            let expected = |f: &dyn Fn(f32) -> f32| (1..=count).map(|i| f(i as f32)).collect::<Vec<_>>();
            let mut y = vec![2.0; count];
            add_scaled(&mut y, 0.5, &x);
            assert_eq!(y, expected(&|x| 2.0 + 0.5 * x));
            multiply(&mut y, &x);
            assert_eq!(y, expected(&|x| (2.0 + 0.5 * x) * x));
            scale(&mut y, 3.0);
            assert_eq!(y, expected(&|x| (2.0 + 0.5 * x) * x * 3.0));
            let mut longer = vec![1.0; 12];
            add_scaled(&mut longer, 1.0, &x[..count]);
            assert!(longer[count..].iter().all(|&y| y == 1.0), "{longer:?}");
        }
    }

    #[test]
    fn every_half_is_widened() {
        let bits: Vec<u16> = (0..=u16::MAX).chain([1, 2, 3]).collect();
        let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let mut found = vec![0.0; bits.len()];
        let mut see = |widen: fn(&[u8], &mut [f32]), expected: fn(u16) -> f32| {
            widen(&bytes, &mut found);
            for (bits, found) in bits.iter().zip(&found) {
                let expected = expected(*bits);
                assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(), "{bits:#x}");
            }
        };
        see(widen_f16, |bits| f16::from_bits(bits).to_f32());
        see(widen_bf16, |bits| bf16::from_bits(bits).to_f32());
    }
}
