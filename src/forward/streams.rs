//! Residual streams side by side, and rows that are changed as a whole.

use super::{Forward, Lowering};
use crate::kernels::hadamard::hadamard;
use crate::kernels::spec::Dispatch;
use crate::kernels::spread::{Kind, spread};
use crate::kernels::streams::{Shape, streams};
use crate::kernels::switch::{Part, switch};
use crate::model::Rotation;
use crate::model::program::{Activation, Spreading, StreamSpec, Switching};

impl Lowering<'_> {
    pub(super) fn streams(&self, parts: [Option<Activation>; 2], spec: StreamSpec, y: Activation) -> Dispatch {
        let forward = self.forward;
        let router = spec.router.map(|(router, _)| router);
        let [base, x] = parts;
        let slice = |of: Option<Activation>| {
            of.map_or(forward.buffers.dummy, |of| {
                let place = self.places.of(of);
                debug_assert!(place.offset == 0 && place.stride == forward.program.width(of), "streams are whole rows");
                place.slice
            })
        };
        let w = spec.router.map_or(forward.buffers.dummy, |(_, key)| forward.vector(key));
        let buffers = [slice(base), slice(x), slice(router), w, slice(Some(y))];
        let width = |of: Option<Activation>| of.map_or(0, |of| forward.program.width(of));
        streams(&Shape::new(&spec, [base, x, router, Some(y)].map(width)), buffers, forward.buffers.dummy)
    }

    pub(super) fn hadamard(&self, [x, y]: [Activation; 2], rotation: &Rotation) -> Vec<Dispatch> {
        let buffers = self.forward.buffers;
        let width = self.forward.program.width(x);
        let [from, to] = [x, y].map(|of| self.places.of(of).rows());
        hadamard([buffers.pass, buffers.dummy], rotation, width, (x != y).then_some(from), to)
    }

    /// A part of the attention that finds which of the model's own adapters is at work.
    pub(super) fn switch(&self, kind: Switching, y: Activation) -> Dispatch {
        let Forward { program, buffers, .. } = self.forward;
        let part = match kind {
            Switching::Query => Part::Query,
            Switching::Signal => Part::Signal,
            Switching::Slot(x) => Part::Slot(self.places.of(x).rows()),
        };
        let to = (self.places.of(y).rows(), self.forward.width(y));
        switch([buffers.pass, buffers.dummy], &program.switch.clone().unwrap_or_default(), part, to)
    }

    pub(super) fn spread(&self, x: Activation, kind: Spreading) -> Dispatch {
        let width = self.forward.width(x);
        let (parts, kind) = match kind {
            Spreading::Cut(deviations) => (1, Kind::Cut(deviations)),
            Spreading::Deviation(eps) => (1, Kind::Deviation(eps)),
            Spreading::Shares => (1, Kind::Shares),
            Spreading::LengthOf(of) => {
                let place = self.places.of(of);
                debug_assert!(place.offset == 0 && place.stride == self.forward.program.width(of), "whole rows");
                (width / self.forward.width(of), Kind::LengthOf(place.slice))
            }
        };
        spread([parts, width / parts], kind, self.places.of(x).rows(), self.forward.buffers.dummy)
    }
}
