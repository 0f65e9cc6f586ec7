//! Operations on whole values: products, lengths, packing.

use naga::MathFunction;

use super::code::{Kind, Reg, Whole};
use super::machine::Lane;
use super::numbers::Numbers;

impl Lane<'_> {
    pub fn whole(&mut self, numbers: &mut Numbers, f: Whole, (n, d, a, b): (u32, Reg, Reg, Reg)) {
        match f {
            Whole::Dot(kind) => {
                let value = self.dot(numbers, kind, (n, a, b));
                self.set(d, value);
            }
            Whole::All => self.set(d, u32::from((0..n).all(|i| self.get(a + i) != 0))),
            Whole::Any => self.set(d, u32::from((0..n).any(|i| self.get(a + i) != 0))),
            Whole::Component => {
                let index = self.get(b);
                if index >= n {
                    numbers.fault = Some("a component past the last");
                }
                self.set(d, self.get(a + index.min(n - 1)));
            }
            Whole::Insert(offset, count) => {
                let offset = self.get(offset).min(32);
                let count = self.get(count).min(32 - offset);
                let mask = ((((1u64 << count) - 1) << offset) & 0xffff_ffff) as u32;
                for i in 0..n {
                    let placed = (u64::from(self.get(b + i)) << offset) as u32;
                    self.set(d + i, self.get(a + i) & !mask | placed & mask);
                }
            }
            Whole::Pack(f) => {
                let value = self.pack(f, a);
                self.set(d, value);
            }
            Whole::Unpack(f) => {
                let bytes = self.get(a).to_le_bytes();
                match f {
                    MathFunction::Unpack2x16float => [[bytes[0], bytes[1]], [bytes[2], bytes[3]]]
                        .into_iter()
                        .zip(d..)
                        .for_each(|(half, d)| self.set(d, half::f16::from_le_bytes(half).to_f32().to_bits())),
                    MathFunction::Unpack4xI8 => (0..4).for_each(|i| self.set(d + i, bytes[i as usize] as i8 as u32)),
                    _ => (0..4).for_each(|i| self.set(d + i, bytes[i as usize].into())),
                }
            }
            Whole::Length | Whole::Normalize | Whole::Distance => self.lengths(numbers, f, (n, d, a, b)),
        }
    }

    fn dot(&self, numbers: &mut Numbers, kind: Kind, (n, a, b): (u32, Reg, Reg)) -> u32 {
        let mut sum = 0;
        for i in 0..n {
            let (x, y) = (self.get(a + i), self.get(b + i));
            sum = match kind {
                // Fused or not: no one says.
                Kind::Float if numbers.seed & 1 == 1 => numbers.fused([x, y, sum], [1.0, 1.0]),
                _ => {
                    let product = numbers.binary(naga::BinaryOperator::Multiply, kind, x, y);
                    numbers.binary(naga::BinaryOperator::Add, kind, product, sum)
                }
            };
        }
        sum
    }

    fn lengths(&mut self, numbers: &mut Numbers, f: Whole, (n, d, a, b): (u32, Reg, Reg, Reg)) {
        let float = |lane: &Self, reg| f64::from(f32::from_bits(lane.get(reg)));
        let other = |lane: &Self, i| if matches!(f, Whole::Distance) { float(lane, b + i) } else { 0.0 };
        let squares = (0..n).map(|i| (float(self, a + i) - other(self, i)).powi(2)).sum::<f64>();
        let length = numbers.math(MathFunction::Sqrt, Kind::Float, [(squares as f32).to_bits(); 3]).unwrap_or(0);
        if !matches!(f, Whole::Normalize) {
            return self.set(d, length);
        }
        for i in 0..n {
            let value = numbers.binary(naga::BinaryOperator::Divide, Kind::Float, self.get(a + i), length);
            self.set(d + i, value);
        }
    }

    fn pack(&self, f: MathFunction, a: Reg) -> u32 {
        match f {
            MathFunction::Pack2x16float => {
                let half = |i| u32::from(half::f16::from_f32(f32::from_bits(self.get(a + i))).to_bits());
                half(0) | half(1) << 16
            }
            _ => (0..4).map(|i| (self.get(a + i) & 255) << (8 * i)).sum(),
        }
    }
}
