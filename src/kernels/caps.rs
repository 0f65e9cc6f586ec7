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
    /// `maxStorageBufferBindingSize` in bytes.
    pub max_binding: u64,
    /// `maxBufferSize` in bytes.
    pub max_buffer: u64,
}

impl Caps {
    /// What every WebGPU device has: no optional feature, default limits.
    pub fn baseline() -> Self {
        Self {
            f16: false,
            subgroups: false,
            subgroup_size: (0, 0),
            dot4: false,
            vendor: String::new(),
            max_binding: 128 << 20,
            max_buffer: 256 << 20,
        }
    }
}
