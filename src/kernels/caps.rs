//! What a device offers, as far as the choice of a variant depends on it. Plain data: tests make their own.

/// Features and limits of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Caps {
    /// `shader-f16` is enabled.
    pub f16: bool,
    /// `subgroups` is enabled.
    pub subgroups: bool,
    /// Smallest and largest subgroup size; 0 where unknown.
    pub subgroup_size: (u32, u32),
    /// WGSL has the packed 4×8-bit dot product.
    pub dot4: bool,
    /// `GPUAdapterInfo.vendor`, lower case.
    pub vendor: String,
    /// Prefill may round activations to 8 bits; set by [`Caps::with_precision`].
    pub int8: bool,
    /// `maxStorageBufferBindingSize` in bytes.
    pub max_binding: u64,
    /// `maxBufferSize` in bytes.
    pub max_buffer: u64,
}

/// What the caller lets kernels round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Activations of prefill to 8 bits, where the GPU multiplies such in hardware.
    #[default]
    Auto,
    /// Nothing.
    Exact,
    /// As `Auto`, and also where the hardware is not known to.
    Fast,
}

/// Vendors whose GPUs have packed 8-bit dot products in hardware; elsewhere they are emulated at a loss.
const DOT4_VENDORS: [&str; 4] = ["amd", "intel", "nvidia", "qualcomm"];

impl Caps {
    /// The same device under the caller's wish.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.int8 = self.dot4
            && match precision {
                Precision::Auto => DOT4_VENDORS.contains(&self.vendor.as_str()),
                Precision::Exact => false,
                Precision::Fast => true,
            };
        self
    }


    /// What every WebGPU device has: no optional feature, default limits.
    pub fn baseline() -> Self {
        Self {
            f16: false,
            subgroups: false,
            subgroup_size: (0, 0),
            dot4: false,
            vendor: String::new(),
            int8: false,
            max_binding: 128 << 20,
            max_buffer: 256 << 20,
        }
    }
}
