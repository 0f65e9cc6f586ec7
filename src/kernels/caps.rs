//! The capabilities of a device that the choice of variants depends on. Plain data: tests make their own.

use super::spec::Kernel;
use super::tuned::Tuned;

/// Names of vendors, as browsers give them, by the ids of PCI.
const VENDORS: [(u32, &str); 7] = [
    (0x10de, "nvidia"),
    (0x1002, "amd"),
    (0x8086, "intel"),
    (0x106b, "apple"),
    (0x13b5, "arm"),
    (0x5143, "qualcomm"),
    (0x10005, "mesa"),
];

/// The name of a vendor; empty where it is not known.
pub fn vendor_name(pci_id: u32) -> &'static str {
    VENDORS.iter().find(|(id, _)| *id == pci_id).map_or("", |(_, name)| name)
}

/// Features and limits of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Caps {
    /// `shader-f16` is enabled.
    pub f16: bool,
    /// `subgroups` is enabled.
    pub subgroups: bool,
    /// Smallest and largest subgroup size; 0 where unknown.
    pub subgroup_size: (u32, u32),
    /// The adapter is a program on the CPU. Where threads wait for each other there, each costs thousands of
    /// instructions, so few of them and no barriers are best.
    pub software: bool,
    /// WGSL has the packed 4×8-bit dot product.
    pub dot4: bool,
    /// `GPUAdapterInfo.vendor`, lower case.
    pub vendor: String,
    /// A shape of subgroup matrices that multiplies f16 and sums in f32, where subgroups have one size.
    pub subgroup_matrix: Option<MatrixShape>,
    /// The format of activations in prefill; set by [`Caps::with_precision`].
    pub activation_format: ActivationFormat,
    /// The rounding that was allowed; set by [`Caps::with_precision`].
    pub precision: Precision,
    /// `maxStorageBufferBindingSize` in bytes.
    pub max_binding: u64,
    /// `maxBufferSize` in bytes.
    pub max_buffer: u64,
    /// `maxComputeWorkgroupStorageSize` in bytes.
    pub workgroup_memory: u32,
    /// Threads of a workgroup at most: the smaller of `maxComputeInvocationsPerWorkgroup` and
    /// `maxComputeWorkgroupSizeX`.
    pub workgroup_threads: u32,
    /// Where a model's embeddings per layer are to lie; set by the option of `load`.
    pub per_layer_embeddings: PerLayerEmbeddings,
    /// Verdicts of tuning, which override the tables' choices.
    pub tuned: Tuned,
}

/// Where the table of a model's embeddings per layer lies, of which a token needs one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PerLayerEmbeddings {
    /// A large table on the host, a small one on the GPU.
    #[default]
    Auto,
    /// On the GPU.
    Gpu,
    /// On the host, with at most this many slots for rows on the GPU; on the GPU where the slots hold the whole table.
    Slots(u32),
}

/// The format to which prefill rounds the activations of matrix products.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ActivationFormat {
    /// f32, without rounding.
    #[default]
    F32,
    /// 8 bits in blocks of 32, for packed dot products.
    Int8,
    /// f16, for subgroup matrices of this shape.
    F16(MatrixShape),
    /// f16 in blocks of 32, for products whose short sums are f16, too.
    F16Blocks,
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

/// The rounding that a model's matrix products may do: the option `precision` of `load`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Activations of prefill: to f16 where there are subgroup matrices, or to 8 bits on the GPUs where that was
    /// measured to be faster: [`Caps::is_measured`], or tuning.
    #[default]
    Auto,
    /// Nothing: matrix products of prefill take activations in f32.
    Exact,
    /// As `Auto`, and to 8 bits on every GPU whose browser has packed dot products, or to f16 in blocks on other GPUs
    /// that compute in f16.
    Fast,
}

/// The vendor on whose GPUs kernels with packed dot products were timed. WebGPU does not tell whether these are one
/// instruction or emulated at a loss, so the tables take them nowhere else, unless tuning finds that they are faster,
/// or for prefill with [`Precision::Fast`].
const MEASURED_VENDOR: &str = "nvidia";

/// The verdict of tuning that prefill rounds activations as on GPUs of [`MEASURED_VENDOR`]: `1`.
pub const ACTIVATIONS: &str = "activations";

impl Caps {
    /// Whether kernels with packed dot products were timed on GPUs of this vendor.
    pub fn is_measured(&self) -> bool {
        self.vendor == MEASURED_VENDOR
    }

    /// The same device, as if the tables had been measured on it.
    pub fn as_measured(&self) -> Self {
        let measured = Self { software: false, vendor: MEASURED_VENDOR.into(), ..self.clone() };
        measured.with_precision(self.precision)
    }

    /// The same device under these verdicts of tuning.
    pub fn under(&self, tuned: Tuned) -> Self {
        let rounds = tuned.row_of(ACTIVATIONS) == Some(1);
        let of = if rounds { self.as_measured().activation_format } else { self.activation_format };
        Self { activation_format: of, tuned, ..self.clone() }
    }

    /// The same device, with the activation format of prefill that `precision` allows on it.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        let packed = self.dot4 && (precision == Precision::Fast || self.is_measured());
        self.activation_format = match (precision, self.subgroup_matrix) {
            (Precision::Exact, _) => ActivationFormat::F32,
            (_, Some(shape)) => ActivationFormat::F16(shape),
            _ if packed => ActivationFormat::Int8,
            (Precision::Fast, None) if self.f16 => ActivationFormat::F16Blocks,
            _ => ActivationFormat::F32,
        };
        self
    }

    /// Whether prefill rounds activations, and takes its products from `shaders/device/`.
    pub fn rounds_activations(&self) -> bool {
        self.activation_format != ActivationFormat::F32
    }

    /// The same device without what these kernels need beyond what every device has, or, if tuning has chosen some,
    /// without that; `None` where they need nothing.
    pub fn without_needs_of<'k>(&self, kernels: impl Iterator<Item = &'k Kernel>) -> Option<Self> {
        let mut caps = self.clone();
        if !self.tuned.is_empty() {
            caps.tuned = Tuned::default();
            return Some(caps.with_precision(self.precision));
        }
        for kernel in kernels {
            if kernel.enables.contains(&"f16") {
                caps.subgroup_matrix = None;
                caps.activation_format = ActivationFormat::F32;
            } else if kernel.enables.contains(&"subgroups") {
                caps.subgroups = false;
            }
            if kernel.wgsl().contains("dot4I8Packed") {
                caps.dot4 = false;
                caps.activation_format = ActivationFormat::F32;
            }
        }
        (caps != *self).then_some(caps)
    }

    /// The same, of a software adapter or of none.
    pub fn with_software(&self, software: bool) -> Self {
        Self { software, ..self.clone() }
    }

    /// Smallest and largest size of a subgroup, a guess where the device does not say.
    pub fn subgroup_sizes(&self) -> (u32, u32) {
        match self.subgroup_size {
            (0, _) | (_, 0) => (32, 128),
            sizes => sizes,
        }
    }

    /// The capabilities of every WebGPU device: no optional feature, default limits.
    pub fn baseline() -> Self {
        Self {
            f16: false,
            subgroups: false,
            subgroup_size: (0, 0),
            software: false,
            dot4: false,
            vendor: String::new(),
            subgroup_matrix: None,
            activation_format: ActivationFormat::F32,
            precision: Precision::Auto,
            max_binding: 128 << 20,
            max_buffer: 256 << 20,
            workgroup_memory: 16 << 10,
            workgroup_threads: 256,
            per_layer_embeddings: PerLayerEmbeddings::Auto,
            tuned: Tuned::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefill_in_8_bits_is_the_default_only_where_it_was_measured() {
        for (vendor, auto) in [
            ("nvidia", ActivationFormat::Int8),
            ("amd", ActivationFormat::F32),
            ("intel", ActivationFormat::F32),
            ("qualcomm", ActivationFormat::F32),
            ("apple", ActivationFormat::F32),
        ] {
            let caps = Caps { dot4: true, vendor: vendor.into(), ..Caps::baseline() };
            let chosen = |precision| caps.clone().with_precision(precision).activation_format;
            assert_eq!(chosen(Precision::Auto), auto, "{vendor}");
            assert_eq!(chosen(Precision::Fast), ActivationFormat::Int8, "{vendor}");
            assert_eq!(chosen(Precision::Exact), ActivationFormat::F32, "{vendor}");
        }
        let emulated = Caps { vendor: "nvidia".into(), ..Caps::baseline() }.with_precision(Precision::Fast);
        assert_eq!(emulated.activation_format, ActivationFormat::F32, "WGSL without packed dot products");
    }

    #[test]
    fn prefill_in_f16_without_matrix_units_is_for_those_who_ask_where_8_bits_are_missing() {
        let half = Caps { f16: true, vendor: "apple".into(), ..Caps::baseline() };
        let chosen = |caps: &Caps, precision| caps.clone().with_precision(precision).activation_format;
        assert_eq!(chosen(&half, Precision::Auto), ActivationFormat::F32, "not measured to be faster");
        assert_eq!(chosen(&half, Precision::Fast), ActivationFormat::F16Blocks);
        assert_eq!(chosen(&half, Precision::Exact), ActivationFormat::F32);
        let none = Caps { f16: false, ..half.clone() };
        assert_eq!(chosen(&none, Precision::Fast), ActivationFormat::F32);
        let packed = Caps { dot4: true, ..half.clone() };
        assert_eq!(chosen(&packed, Precision::Fast), ActivationFormat::Int8, "faster where both were measured");
        let shape = MatrixShape::ALL[0];
        let matrices = Caps { subgroup_matrix: Some(shape), ..half.clone() };
        assert_eq!(chosen(&matrices, Precision::Fast), ActivationFormat::F16(shape));
        assert!(half.with_precision(Precision::Fast).rounds_activations(), "pages fetch its shaders");
    }
}
