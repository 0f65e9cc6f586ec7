//! Residual streams side by side, and rows that are changed as a whole.

use crate::cpu::interpreter::Interpreter;
use crate::kernels::reference::{cut, divide_by_deviation, hadamard, set_length, shares, streams};
use crate::kernels::streams::Shape;
use crate::model::Rotation;
use crate::model::program::{Activation, Spreading, StreamSpec};

impl Interpreter<'_> {
    pub(super) fn streams(&mut self, [base, x]: [Option<Activation>; 2], spec: &StreamSpec, y: Activation) {
        let mut out = self.run.take(y);
        let router = spec.router.map(|(router, _)| router);
        let of = |of: Option<Activation>| of.map_or(&[][..], |of| self.run.values[of.0].as_slice());
        let w = spec.router.map_or(&[][..], |(_, key)| self.weights.norm(key));
        let parts = [of(base), of(x), of(router), &out];
        let shape = Shape::new(spec, parts.map(|part| part.len() / self.run.tokens));
        if base != Some(y) {
            let width = shape.streams * shape.width;
            let rows = out.chunks_exact_mut(width).enumerate();
            rows.for_each(|(row, y)| match base {
                Some(_) => y.copy_from_slice(&of(base)[(row * shape.base[0] + spec.skip) * spec.width..][..width]),
                None => y.fill(0.0),
            });
        }
        streams(&shape, of(x), [of(router), w], &mut out);
        self.run.put(y, out);
    }

    /// Rotates rows; products of `y` find what adapters read in `rotated`.
    pub(super) fn hadamard(&mut self, [x, y]: [Activation; 2], rotation: &Rotation) {
        self.rotated = Some([x, y]);
        let mut out = self.run.take(y);
        let x = if x == y { out.clone() } else { self.run.values[x.0].clone() };
        let width = out.len() / self.run.tokens.max(1);
        for (row, (out, x)) in out.chunks_exact_mut(width).zip(x.chunks_exact(width)).enumerate() {
            if rotation.tokens.is_none_or(|count| (self.ids[row] as usize) < count) {
                out.copy_from_slice(&hadamard(rotation, x));
            }
        }
        self.run.put(y, out);
    }

    pub(super) fn spread(&mut self, x: Activation, kind: Spreading) {
        let mut out = self.run.take(x);
        let (of, width) = match kind {
            Spreading::Cut(_) | Spreading::Deviation(_) | Spreading::Shares => (&[][..], out.len()),
            Spreading::LengthOf(of) => (self.run.values[of.0].as_slice(), self.run.values[of.0].len()),
        };
        let width = width / self.run.tokens;
        match kind {
            Spreading::Cut(deviations) => cut(&mut out, width, deviations),
            Spreading::Deviation(eps) => divide_by_deviation(&mut out, width, eps),
            Spreading::Shares => shares(&mut out, width),
            Spreading::LengthOf(_) => set_length(&mut out, of, width),
        }
        self.run.put(x, out);
    }
}
