//! Arithmetic as WGSL permits it: results off within the stated accuracy, subnormal numbers flushed, and numbers that
//! are not finite of no certain value.

use std::f64::consts::PI;

use naga::{BinaryOperator, MathFunction, UnaryOperator};

use super::code::Kind;

/// What a result that depends on NaN or infinity is.
const NOTHING: f32 = f32::NAN;

/// What of the latitude of WGSL is used.
#[derive(Debug, Clone)]
pub struct Numbers {
    pub seed: u64,
    /// Results of exp, division and the like are off by up to what WGSL allows.
    pub rough: bool,
    /// Subnormal numbers are zeros.
    pub flush: bool,
    /// What is computed from NaN and infinities is nothing, and comparing it is a fault.
    pub strict: bool,
    /// What was done that has no certain result.
    pub fault: Option<&'static str>,
}

/// A number in [-1, 1] that depends on the bits and the seed alone: a device gives the same result each time.
fn noise(seed: u64, bits: u32) -> f64 {
    let mut hash = (seed ^ u64::from(bits)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// The distance of f32 numbers beside this one.
fn ulp(value: f64) -> f64 {
    let exponent = ((value.to_bits() >> 52) as i32 & 0x7ff) - 1023;
    f64::from_bits(((exponent.max(-126) - 23 + 1023) as u64) << 52)
}

impl Numbers {
    fn flushed(&self, x: f32) -> f32 {
        if self.flush && x.to_bits() & 0x7f80_0000 == 0 { 0.0 } else { x }
    }

    /// The result of an operation with these operands.
    fn settled(&self, result: f32, operands: [f32; 2]) -> f32 {
        if result.is_normal() && !self.strict {
            return result;
        }
        if self.strict && !(result.is_finite() && operands[0].is_finite() && operands[1].is_finite()) {
            return NOTHING;
        }
        self.flushed(result)
    }

    /// A result off by at most `ulps` units in the last place, or by at most `absolute` where that is more.
    fn off(&self, exact: f64, ulps: f64, absolute: f64, bits: u32) -> f32 {
        if !self.rough {
            return exact as f32;
        }
        let most = (ulps * ulp(exact)).min(exact.abs()).max(absolute);
        (exact + noise(self.seed, bits) * most) as f32
    }

    fn divided(&self, x: f32, y: f32) -> f32 {
        // Powers of two are exact in every known implementation; WGSL does not say so, and no kernel relies on it.
        self.off(f64::from(x) / f64::from(y), 2.5, 0.0, x.to_bits() ^ y.to_bits().rotate_left(16))
    }

    pub fn binary(&mut self, f: BinaryOperator, kind: Kind, x: u32, y: u32) -> u32 {
        match kind {
            Kind::Float => self.floats(f, f32::from_bits(x), f32::from_bits(y)),
            Kind::Signed => signed(f, x as i32, y as i32, y),
            Kind::Unsigned | Kind::Bool => unsigned(f, x, y),
        }
    }

    fn floats(&mut self, f: BinaryOperator, x: f32, y: f32) -> u32 {
        use BinaryOperator as B;
        let (x, y) = (self.flushed(x), self.flushed(y));
        let result = match f {
            B::Add => x + y,
            B::Subtract => x - y,
            B::Multiply => x * y,
            B::Divide => self.divided(x, y),
            B::Modulo => x - y * self.divided(x, y).trunc(),
            _ => return self.compared(f, x, y),
        };
        self.settled(result, [x, y]).to_bits()
    }

    fn compared(&mut self, f: BinaryOperator, x: f32, y: f32) -> u32 {
        use BinaryOperator as B;
        if self.strict && !(x.is_finite() && y.is_finite()) {
            self.fault = Some("a comparison with a number that is not finite");
        }
        u32::from(match f {
            B::Equal => x == y,
            B::NotEqual => x != y,
            B::Less => x < y,
            B::LessEqual => x <= y,
            B::Greater => x > y,
            _ => x >= y,
        })
    }

    /// a · b + c with one rounding.
    pub fn fused(&self, [a, b, c]: [u32; 3], signs: [f32; 2]) -> u32 {
        let [a, b, c] = [a, b, c].map(|bits| self.flushed(f32::from_bits(bits)));
        // In f64, whose product of two f32 is exact: processors without the instruction compute it slowly.
        let result = (f64::from(signs[0] * a) * f64::from(b) + f64::from(signs[1] * c)) as f32;
        let finite = if a.is_finite() && b.is_finite() { 0.0 } else { NOTHING };
        self.settled(result, [c, finite]).to_bits()
    }

    pub fn unary(&mut self, f: UnaryOperator, kind: Kind, x: u32) -> u32 {
        match (f, kind) {
            (UnaryOperator::Negate, Kind::Float) => x ^ 0x8000_0000,
            (UnaryOperator::Negate, _) => x.wrapping_neg(),
            (UnaryOperator::LogicalNot, _) => u32::from(x == 0),
            (UnaryOperator::BitwiseNot, _) => !x,
        }
    }

    pub fn convert(&mut self, from: Kind, to: Kind, x: u32) -> u32 {
        let float = f32::from_bits(x);
        if from == Kind::Float && self.strict && !float.is_finite() && to != Kind::Float {
            self.fault = Some("a conversion of a number that is not finite");
        }
        match (from, to) {
            (Kind::Float, Kind::Signed) => float as i32 as u32,
            (Kind::Float, Kind::Unsigned) => float as u32,
            (Kind::Float, Kind::Bool) => u32::from(float != 0.0),
            (Kind::Signed, Kind::Float) => (x as i32 as f32).to_bits(),
            (Kind::Unsigned | Kind::Bool, Kind::Float) => (x as f32).to_bits(),
            (_, Kind::Bool) => u32::from(x != 0),
            _ => x,
        }
    }

    pub fn math(&mut self, f: MathFunction, kind: Kind, args: [u32; 3]) -> Option<u32> {
        match kind {
            Kind::Float => self.float_function(f, args.map(f32::from_bits)).map(f32::to_bits),
            Kind::Signed => signed_function(f, args),
            Kind::Unsigned | Kind::Bool => unsigned_function(f, args),
        }
    }

    fn float_function(&mut self, f: MathFunction, args: [f32; 3]) -> Option<f32> {
        use MathFunction as M;
        let [x, y, z] = args.map(|of| self.flushed(of));
        let result = match f {
            // Signs are bits.
            M::Abs => return Some(args[0].abs()),
            M::Min => x.min(y),
            M::Max => x.max(y),
            M::Clamp => return Some(self.settled(x.max(y).min(z), [x, y])),
            M::Saturate => x.clamp(0.0, 1.0),
            M::Fma => return Some(f32::from_bits(self.fused(args.map(f32::to_bits), [1.0, 1.0]))),
            M::Mix => {
                let result = x * (1.0 - z) + y * z;
                return Some(self.settled(result, [x, if z.is_finite() { y } else { z }]));
            }
            M::Step => return Some(f32::from(u8::from(self.compared(BinaryOperator::LessEqual, x, y) == 1))),
            M::Pow => self.power(x, y),
            M::Atan2 => self.off(f64::from(x).atan2(y.into()), 4096.0, 0.0, x.to_bits() ^ y.to_bits()),
            _ => self.of_one(f, x)?,
        };
        let other = if matches!(f, M::Min | M::Max | M::Pow | M::Atan2) { y } else { x };
        Some(self.settled(result, [x, other]))
    }

    fn power(&self, x: f32, y: f32) -> f32 {
        let exponent = f64::from(y) * f64::from(x).log2();
        self.off(f64::from(x).powf(y.into()), 3.0 + 2.0 * exponent.abs() + 3.0 * f64::from(y).abs(), 0.0, x.to_bits())
    }

    /// Accuracies as WGSL states them, section 15.7.4.1.
    fn of_one(&self, f: MathFunction, x: f32) -> Option<f32> {
        use MathFunction as M;
        let (of, bits) = (f64::from(x), x.to_bits());
        let near_one = (0.5..=2.0).contains(&of);
        let of_logarithm = if near_one { (0.0, 2f64.powi(-21)) } else { (3.0, 0.0) };
        Some(match f {
            M::Ceil => x.ceil(),
            M::Floor => x.floor(),
            M::Round => x.round_ties_even(),
            M::Trunc => x.trunc(),
            M::Fract => x - x.floor(),
            M::Sign => f32::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
            M::Exp => self.off(of.exp(), 3.0 + 2.0 * of.abs(), 0.0, bits),
            M::Exp2 => self.off(of.exp2(), 3.0 + 2.0 * of.abs(), 0.0, bits),
            M::Log => self.off(of.ln(), of_logarithm.0, of_logarithm.1, bits),
            M::Log2 => self.off(of.log2(), of_logarithm.0, of_logarithm.1, bits),
            M::InverseSqrt => self.off(of.sqrt().recip(), 2.0, 0.0, bits),
            M::Sqrt if x == 0.0 => 0.0,
            M::Sqrt => self.off(of.sqrt(), 4.5, 0.0, bits),
            M::Sin => self.off(of.sin(), 0.0, if of.abs() <= PI { 2f64.powi(-11) } else { 1.0 }, bits),
            M::Cos => self.off(of.cos(), 0.0, if of.abs() <= PI { 2f64.powi(-11) } else { 1.0 }, bits),
            M::Tanh => self.off(of.tanh(), 0.0, 1e-5, bits),
            M::Atan => self.off(of.atan(), 4096.0, 0.0, bits),
            M::QuantizeToF16 => half::f16::from_f32(x).to_f32(),
            _ => return None,
        })
    }
}

fn unsigned(f: BinaryOperator, x: u32, y: u32) -> u32 {
    use BinaryOperator as B;
    match f {
        B::Add => x.wrapping_add(y),
        B::Subtract => x.wrapping_sub(y),
        B::Multiply => x.wrapping_mul(y),
        B::Divide => x.checked_div(y).unwrap_or(x),
        B::Modulo => x.checked_rem(y).unwrap_or(0),
        B::And | B::LogicalAnd => x & y,
        B::InclusiveOr | B::LogicalOr => x | y,
        B::ExclusiveOr => x ^ y,
        B::ShiftLeft => x << (y & 31),
        B::ShiftRight => x >> (y & 31),
        B::Equal => u32::from(x == y),
        B::NotEqual => u32::from(x != y),
        B::Less => u32::from(x < y),
        B::LessEqual => u32::from(x <= y),
        B::Greater => u32::from(x > y),
        B::GreaterEqual => u32::from(x >= y),
    }
}

fn signed(f: BinaryOperator, x: i32, y: i32, bits: u32) -> u32 {
    use BinaryOperator as B;
    match f {
        B::Divide => x.checked_div(y).unwrap_or(x) as u32,
        B::Modulo => x.checked_rem(y).unwrap_or(0) as u32,
        B::ShiftRight => (x >> (bits & 31)) as u32,
        B::Less => u32::from(x < y),
        B::LessEqual => u32::from(x <= y),
        B::Greater => u32::from(x > y),
        B::GreaterEqual => u32::from(x >= y),
        _ => unsigned(f, x as u32, bits),
    }
}

fn signed_function(f: MathFunction, [x, y, z]: [u32; 3]) -> Option<u32> {
    use MathFunction as M;
    let [a, b, c] = [x, y, z].map(|bits| bits as i32);
    Some(match f {
        M::Abs => a.wrapping_abs() as u32,
        M::Min => a.min(b) as u32,
        M::Max => a.max(b) as u32,
        M::Clamp => a.max(b).min(c) as u32,
        M::Sign => a.signum() as u32,
        M::FirstLeadingBit if a < 0 => unsigned_function(f, [!x, 0, 0])?,
        M::ExtractBits => {
            let (offset, count) = (y.min(32), z.min(32 - y.min(32)));
            if count == 0 { 0 } else { ((x << (32 - offset - count)) as i32 >> (32 - count)) as u32 }
        }
        _ => return unsigned_function(f, [x, y, z]),
    })
}

fn unsigned_function(f: MathFunction, [x, y, z]: [u32; 3]) -> Option<u32> {
    use MathFunction as M;
    let bytes = |signed: bool| {
        let product = |(a, b): (u8, u8)| match signed {
            true => i32::from(a as i8) * i32::from(b as i8),
            false => i32::from(a) * i32::from(b),
        };
        x.to_le_bytes().into_iter().zip(y.to_le_bytes()).map(product).sum::<i32>() as u32
    };
    Some(match f {
        M::Abs => x,
        M::Min => x.min(y),
        M::Max => x.max(y),
        M::Clamp => x.max(y).min(z),
        M::Dot4I8Packed => bytes(true),
        M::Dot4U8Packed => bytes(false),
        M::CountTrailingZeros => x.trailing_zeros(),
        M::CountLeadingZeros => x.leading_zeros(),
        M::CountOneBits => x.count_ones(),
        M::ReverseBits => x.reverse_bits(),
        M::FirstTrailingBit => {
            if x == 0 {
                u32::MAX
            } else {
                x.trailing_zeros()
            }
        }
        M::FirstLeadingBit => {
            if x == 0 {
                u32::MAX
            } else {
                31 - x.leading_zeros()
            }
        }
        M::ExtractBits => {
            let (offset, count) = (y.min(32), z.min(32 - y.min(32)));
            if count == 0 { 0 } else { (x << (32 - offset - count)) >> (32 - count) }
        }
        _ => return None,
    })
}
