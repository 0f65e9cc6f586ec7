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
    /// A shape of subgroup matrices that multiplies f16 and sums in f32, where subgroups have one size.
    pub subgroup_matrix: Option<MatrixShape>,
    /// What prefill may round activations to; set by [`Caps::with_precision`].
    pub activation_format: ActivationFormat,
    /// `maxStorageBufferBindingSize` in bytes.
    pub max_binding: u64,
    /// `maxBufferSize` in bytes.
    pub max_buffer: u64,
}

/// What prefill rounds the activations of its matrix products to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ActivationFormat {
    /// Nothing: they stay f32.
    #[default]
    F32,
    /// 8 bits in blocks of 32, for packed dot products.
    Int8,
    /// f16, for subgroup matrices of this shape.
    F16(MatrixShape),
}

/// A subgroup multiplies matrices of M × K by K × N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixShape {
    /// Rows of the sums: tokens.
    pub m: u32,
    /// Columns of the sums: rows of W.
    pub n: u32,
    /// Products of a sum.
    pub k: u32,
    /// File of `shaders/shared/`.
    file: &'static str,
}

impl MatrixShape {
    /// The shapes that there are shaders for, the best first.
    pub const ALL: [Self; 3] = [
        Self { m: 16, n: 16, k: 16, file: "shape_16x16x16" },
        Self { m: 8, n: 16, k: 16, file: "shape_8x16x16" },
        Self { m: 8, n: 8, k: 8, file: "shape_8x8x8" },
    ];

    /// `16x16x16`
    pub fn name(self) -> &'static str {
        self.file.trim_start_matches("shape_")
    }

    /// The file that declares it.
    pub(super) fn file(self) -> &'static str {
        self.file
    }
}

/// What the caller lets kernels round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Activations of prefill: to f16 where there are subgroup matrices, or to 8 bits where the GPU multiplies such in
    /// hardware.
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
        let packed = self.dot4 && (precision == Precision::Fast || DOT4_VENDORS.contains(&self.vendor.as_str()));
        self.activation_format = match (precision, self.subgroup_matrix) {
            (Precision::Exact, _) => ActivationFormat::F32,
            (_, Some(shape)) => ActivationFormat::F16(shape),
            _ if packed => ActivationFormat::Int8,
            _ => ActivationFormat::F32,
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
            subgroup_matrix: None,
            activation_format: ActivationFormat::F32,
            max_binding: 128 << 20,
            max_buffer: 256 << 20,
        }
    }
}
