//! Kernels as the crate sees them: a shader file with its contract, and a variant of it that is ready to run.

use std::fmt::Write as _;

use super::kv_type::KvType;
use super::shaders;

/// One shader file and everything the host must agree on with it. `tests/contract.rs` proves it with naga.
#[derive(Debug)]
pub struct KernelSpec {
    /// The name of the shader, its Rust file, its reference, its cases and its pipeline label.
    pub kernel_name: &'static str,
    /// Binding 0 is the uniform `params`, then inputs, outputs last.
    pub bindings: &'static [Binding],
    /// Size in bytes and fields of `Params`.
    pub params: ParamsLayout,
    /// The `override` constants that the host sets.
    pub overrides: &'static [&'static str],
}

/// One `@group(0) @binding(i)` of a shader; `i` is its place in [`KernelSpec::bindings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// The variable's name in the shader.
    pub name: &'static str,
    /// How the shader uses it.
    pub access: Access,
}

/// How a shader uses a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// `var<uniform>`
    Uniform,
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    ReadWrite,
}

/// A read-only storage binding.
pub const fn read(name: &'static str) -> Binding {
    Binding { name, access: Access::Read }
}

/// A read-write storage binding.
pub const fn write(name: &'static str) -> Binding {
    Binding { name, access: Access::ReadWrite }
}

/// The uniform of per-dispatch numbers, always binding 0.
pub const PARAMS: Binding = Binding { name: "params", access: Access::Uniform };

/// Names and byte offsets of a `Params` struct, checked against the shader's.
#[derive(Debug, Clone, Copy)]
pub struct ParamsLayout {
    /// Bytes of the struct.
    pub size: usize,
    /// (field, byte offset) in order.
    pub fields: &'static [(&'static str, usize)],
}

/// Declares a `Params` struct: every field has four bytes, so that its layout in Rust and in WGSL is the same.
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name { $($(#[$doc])* pub $field: $ty,)* }

        impl $name {
            /// The layout that the shader must have.
            pub const LAYOUT: $crate::kernels::spec::ParamsLayout = $crate::kernels::spec::ParamsLayout {
                size: std::mem::size_of::<Self>(),
                fields: &[$((stringify!($field), std::mem::offset_of!(Self, $field)),)*],
            };
        }
    };
}
pub(crate) use params;

params! {
    /// Parameters of a kernel that needs none: WebGPU has no empty structs.
    pub struct NoParams {
        /// Always 0.
        pub unused: u32,
    }
}

/// The `override` constants of several lists, as [`KernelSpec::overrides`] has them.
macro_rules! overrides {
    ($($list:expr),* $(,)?) => {{
        const LISTS: &[&[&str]] = &[$($list),*];
        const ALL: [&str; $crate::kernels::spec::length(LISTS)] = $crate::kernels::spec::joined(LISTS);
        &ALL
    }};
}
pub(crate) use overrides;

/// Elements of all lists.
pub const fn length(lists: &[&[&str]]) -> usize {
    let (mut at, mut sum) = (0, 0);
    while at < lists.len() {
        sum += lists[at].len();
        at += 1;
    }
    sum
}

/// The elements of lists, one list after the other.
pub const fn joined<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut list, mut at, mut count) = (0, 0, 0);
    while count < N {
        if at == lists[list].len() {
            (list, at) = (list + 1, 0);
        } else {
            all[count] = lists[list][at];
            (at, count) = (at + 1, count + 1);
        }
    }
    all
}

/// A condition as the value of an `override` constant.
pub fn bool_override(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// One variant of a kernel: what identifies a compiled pipeline.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The shader and its contract.
    pub spec: &'static KernelSpec,
    /// The WGSL of a shader that came as text, not with this crate: see [`shader`](crate::tensor::shader).
    pub text: Option<&'static str>,
    /// Readable id such as `mat_vec.q4_k.subgroup`: label, log line and test name.
    pub id: String,
    /// (name in `#import name`, file in `shaders/shared/`) where they differ; others import the file of that name.
    pub imports: Vec<(&'static str, &'static str)>,
    /// Values of the `override` constants.
    pub constants: Vec<(&'static str, f64)>,
    /// WGSL extensions to enable: `f16`, `subgroups`, [`SUBGROUP_MATRIX`].
    pub enables: Vec<&'static str>,
}

/// The WGSL extension of subgroup matrices, while they are an experiment.
pub const SUBGROUP_MATRIX: &str = "chromium_experimental_subgroup_matrix";

impl Kernel {
    /// The plain variant of `spec` with these constants.
    pub fn new(spec: &'static KernelSpec, constants: &[(&'static str, f64)]) -> Self {
        Self {
            spec,
            text: None,
            id: spec.kernel_name.to_owned(),
            imports: Vec::new(),
            constants: constants.to_vec(),
            enables: Vec::new(),
        }
    }

    /// Appends `.part` to the id.
    pub fn named(mut self, part: &str) -> Self {
        self.id.push('.');
        self.id.push_str(part);
        self
    }

    /// Resolves `#import name` to the shared file `file`.
    pub fn import(mut self, name: &'static str, file: &'static str) -> Self {
        self.imports.push((name, file));
        self
    }

    /// Reads a cache of this type.
    pub fn cached(self, kv_type: KvType) -> Self {
        let named = if kv_type == KvType::F16 { self } else { self.named(kv_type.as_str()) };
        named.import("cache", kv_type.reader())
    }

    /// Enables a WGSL extension.
    pub fn enable(mut self, extension: &'static str) -> Self {
        self.enables.push(extension);
        self
    }

    /// The key of the pipeline cache: the id with every constant.
    pub fn key(&self) -> String {
        let mut key = self.id.clone();
        for (name, value) in &self.constants {
            let _ = write!(key, " {name}={value}");
        }
        key
    }

    /// The shader as the device compiles it: `enable` lines, then the source with imports resolved.
    pub fn wgsl(&self) -> String {
        let source = self.text.unwrap_or_else(|| shaders::text(self.spec.kernel_name));
        let mut text = String::with_capacity(source.len() * 2);
        for extension in &self.enables {
            let _ = writeln!(text, "enable {extension};");
        }
        // Our kernels reach subgroup operations uniformly, but the compiler's analysis cannot see that through loops.
        if self.enables.contains(&"subgroups") {
            text.push_str("diagnostic(off, subgroup_uniformity);\n");
        }
        if self.enables.contains(&SUBGROUP_MATRIX) {
            text.push_str("diagnostic(off, chromium.subgroup_matrix_uniformity);\n");
        }
        self.expand(source, &mut text, 0);
        text
    }

    fn expand(&self, source: &'static str, text: &mut String, depth: usize) {
        assert!(depth < 8, "imports of {} nest too deep", self.id);
        for line in source.lines() {
            match line.strip_prefix("#import ") {
                Some(name) => self.expand(self.shared(name.trim()), text, depth + 1),
                None => {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }

    fn shared(&self, name: &str) -> &'static str {
        let file = self.imports.iter().find(|(from, _)| *from == name).map_or(name, |(_, file)| *file);
        shaders::text(&format!("shared/{file}"))
    }
}

/// Workgroups of one axis of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Always this many.
    Fixed(u32),
    /// ⌈rows of the pass / this⌉.
    PerRows(u32),
    /// Tiles of up to `tile` entries, of which a row of the pass has `of_row`, where up to `most_open` tiles are not
    /// full.
    Tiles { of_row: u32, tile: u32, most_open: u32 },
}

impl Extent {
    /// Workgroups for a pass of `rows` rows.
    pub fn resolve(self, rows: u32) -> u32 {
        match self {
            Self::Fixed(n) => n,
            Self::PerRows(per) => rows.div_ceil(per),
            Self::Tiles { of_row, tile, most_open } => rows * of_row / tile + most_open.min(rows * of_row),
        }
    }
}

/// Workgroups of a dispatch.
pub type Grid = [Extent; 3];

/// A fixed one-dimensional grid of `n` workgroups, folded over y where one axis does not hold them; the shader
/// computes its index as `workgroup_id.y * num_workgroups.x + workgroup_id.x` and checks it.
pub fn grid_1d(n: u32) -> Grid {
    let y = n.div_ceil(MAX_WORKGROUPS).max(1);
    [Extent::Fixed(n.div_ceil(y)), Extent::Fixed(y), Extent::Fixed(1)]
}

/// Workgroups per axis that every WebGPU device takes.
pub const MAX_WORKGROUPS: u32 = 65_535;

/// A buffer by its number in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// Part of a buffer, in bytes; `offset` is a multiple of 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The buffer.
    pub buffer: BufferId,
    /// First byte.
    pub offset: u64,
    /// Bytes, or to the end.
    pub size: Option<u64>,
}

impl Slice {
    /// The slice `bytes` bytes further on.
    pub fn after(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

impl From<BufferId> for Slice {
    fn from(buffer: BufferId) -> Self {
        Self { buffer, offset: 0, size: None }
    }
}

/// One dispatch: a kernel variant, its parameters, its buffers and its grid. Plain data, made once.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// The variant.
    pub kernel: Kernel,
    /// Bytes of its `Params`.
    pub params: Vec<u8>,
    /// Storage bindings, in the order of `spec.bindings` from 1 on.
    pub buffers: Vec<Slice>,
    /// Workgroups.
    pub grid: Grid,
}

impl Dispatch {
    /// A dispatch of `kernel`.
    pub fn new<P: bytemuck::Pod>(kernel: Kernel, params: &P, buffers: &[Slice], grid: Grid) -> Self {
        debug_assert_eq!(kernel.spec.bindings.len(), buffers.len() + 1, "{}", kernel.id);
        Self { kernel, params: bytemuck::bytes_of(params).to_vec(), buffers: buffers.to_vec(), grid }
    }
}
