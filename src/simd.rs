//! Numbers of a SIMD vector: those of WebAssembly, and arrays elsewhere, with the same results to the last bit.

pub use vectors::{Bytes, F32x4, I32x4};

#[cfg(target_arch = "wasm32")]
mod vectors {
    use core::arch::wasm32::{
        f32x4_add, f32x4_convert_i32x4, f32x4_mul, f32x4_splat, i16x8_extend_high_i8x16, i16x8_extend_high_u8x16,
        i16x8_extend_low_i8x16, i16x8_extend_low_u8x16, i32x4_add, i32x4_dot_i16x8, i32x4_splat, u8x16_splat,
        u16x8_shl, u16x8_shr, v128, v128_and, v128_or,
    };

    use bytemuck::cast;

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

        /// Adds `scale · values`.
        pub fn add_scaled(self, values: I32x4, scale: f32) -> Self {
            Self(from_fn(|lane| self.0[lane] + values.0[lane] as f32 * scale))
        }

        pub fn to_array(self) -> [f32; 4] {
            self.0
        }
    }
}
