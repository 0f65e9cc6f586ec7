//! Digests of what a GPU is given: what has not changed since it was right need not be run again.

use std::hash::{Hash, Hasher};

use super::{Case, Expected};
use crate::gpu::Device;
use crate::kernels::spec::Dispatch;

/// FNV-1a with 64 bits: the same on every machine, unlike the hashers of the standard library, of which nobody promises
/// that.
pub struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Digest {
    /// Starts a digest for an adapter of this kind.
    pub fn new(device: &Device) -> Self {
        let mut digest = Self(0xcbf2_9ce4_8422_2325);
        digest.write(device.adapter.vendor.as_bytes());
        digest.write(device.adapter.architecture.as_bytes());
        digest
    }

    /// A digest of the inputs and the expected results of all cases.
    pub fn of_cases<'a>(device: &Device, cases: impl IntoIterator<Item = &'a Case>) -> Self {
        let mut digest = Self::new(device);
        cases.into_iter().for_each(|case| digest.write_case(case));
        digest
    }

    /// Adds shaders, constants, parameters, buffers and workgroups.
    pub fn write_dispatches(&mut self, dispatches: &[Dispatch]) {
        for Dispatch { kernel, params, buffers, grid } in dispatches {
            self.write(kernel.key().as_bytes());
            self.write(kernel.wgsl().as_bytes());
            self.write(params);
            // Numbers of 32 and 64 bits: the same bytes on every machine with little endian.
            buffers.hash(self);
            self.write(format!("{grid:?}").as_bytes());
        }
    }

    fn write_case(&mut self, case: &Case) {
        let Case { name, dispatches, buffers, output, expected, pass, .. } = case;
        self.write(name.as_bytes());
        self.write_dispatches(dispatches);
        for (id, contents) in buffers {
            id.hash(self);
            self.write(contents);
        }
        output.hash(self);
        self.write(match expected {
            Expected::Close(values, _) => bytemuck::cast_slice(values),
            Expected::Halves(values, _) => bytemuck::cast_slice(values),
            Expected::Exact(words) => bytemuck::cast_slice(words),
        });
        self.write(format!("{:?} {pass:?}", expected.tolerance()).as_bytes());
    }

    /// Sixteen digits.
    pub fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}
