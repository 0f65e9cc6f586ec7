//! Tensors and the operations on them, which `Gpu` of the JavaScript package offers.
//!
//! An operation checks shapes and options, then writes its dispatches on a [`Tape`]: plain data, as in `forward`, so
//! that host tests see every shape error and every dispatch. `gpu::TensorGpu` gives the tape its buffers and runs it.
//!
//! Tensors are contiguous and row-major. Sizes are counts of elements.

pub mod attention;
pub mod elementwise;
pub mod fused;
pub mod gather;
pub mod grouped;
pub mod kv_cache;
pub mod matmul;
pub mod movement;
pub mod norm;
pub mod op;
pub mod options;
pub mod pool;
pub mod quantised;
pub mod reduce;
pub mod reshape;
pub mod rope;
pub mod scan;
pub mod shader;

use crate::gguf::GgmlType;
use crate::kernels::caps::Caps;
use crate::kernels::layout::PackedLayout;
use crate::kernels::spec::{BufferId, Dispatch, Slice};
use crate::{Error, ErrorCode, Result};

/// Axes that a tensor may have.
pub const MAX_RANK: usize = 5;

/// How elements are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DType {
    /// 32-bit float.
    F32,
    /// 16-bit float, two to a word.
    F16,
    /// The upper half of a 32-bit float, two to a word.
    BF16,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 32-bit integer.
    I32,
    /// A matrix in blocks of a GGUF type, in the packed layout: the last axis is the one that the blocks run along.
    Quantised(GgmlType),
}

impl DType {
    /// The name in the API: `f32`, `q4_k`.
    pub fn name(self) -> String {
        match self {
            Self::F32 => "f32".into(),
            Self::F16 => "f16".into(),
            Self::BF16 => "bf16".into(),
            Self::U32 => "u32".into(),
            Self::I32 => "i32".into(),
            Self::Quantised(ty) => ty.key().into(),
        }
    }

    /// The type of this name.
    pub fn named(name: &str) -> Option<Self> {
        let plain = [Self::F32, Self::F16, Self::BF16, Self::U32, Self::I32];
        let blocks = GgmlType::ALL.into_iter().filter(|ty| ty.is_quantised()).map(Self::Quantised);
        plain.into_iter().chain(blocks).find(|dtype| dtype.name() == name)
    }

    /// Bytes of a buffer that holds a tensor of this shape: whole words.
    pub fn bytes(self, shape: &[u32]) -> u64 {
        let len: u64 = shape.iter().map(|&n| u64::from(n)).product();
        match self {
            Self::F32 | Self::U32 | Self::I32 => 4 * len,
            Self::F16 | Self::BF16 => (2 * len).next_multiple_of(4),
            Self::Quantised(ty) => {
                let (rows, cols) = rows_and_cols(shape);
                PackedLayout::new(ty, rows, cols).bytes()
            }
        }
    }
}

/// Product of all axes but the last, and the last.
pub fn rows_and_cols(shape: &[u32]) -> (u32, u32) {
    let (&cols, rows) = shape.split_last().unwrap_or((&1, &[]));
    (rows.iter().product(), cols)
}

/// A tensor of a tape: its type, its shape, and the number of its buffer. Plain data: it frees nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// How elements are stored.
    pub dtype: DType,
    /// Elements along each axis, the outermost first; empty for a scalar.
    pub shape: Vec<u32>,
    /// The buffer.
    pub buffer: BufferId,
}

impl Tensor {
    /// The whole buffer.
    pub fn slice(&self) -> Slice {
        self.buffer.into()
    }

    /// Elements.
    pub fn len(&self) -> u32 {
        self.shape.iter().product()
    }

    /// Whether an axis has no elements. No tape makes such a tensor.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For messages: `[2, 3] f32`.
    pub fn describe(&self) -> String {
        describe(self.dtype, &self.shape)
    }
}

/// A shape and type for messages: `[2, 3] f32`.
pub fn describe(dtype: DType, shape: &[u32]) -> String {
    format!("{shape:?} {}", dtype.name())
}

/// A buffer that a tape asks for.
#[derive(Debug, Clone)]
pub struct Made {
    /// The buffer's id.
    pub buffer: BufferId,
    /// The buffer's size.
    pub bytes: u64,
    /// The initial contents; undefined where `None`.
    pub contents: Option<Vec<u8>>,
    /// No tensor refers to it: it is free after the tape's dispatches.
    pub temporary: bool,
}

/// Operations as dispatches, with the buffers they need.
#[derive(Debug)]
pub struct Tape {
    caps: Caps,
    next: u32,
    made: Vec<Made>,
    dispatches: Vec<Dispatch>,
}

/// The buffer that [`Tape::dummy`] names: 16 bytes.
pub const DUMMY: BufferId = BufferId(0);

/// The buffer that [`Tape::pass`] names: [`Pass::constant`](crate::kernels::pass::Pass::constant).
pub const PASS: BufferId = BufferId(1);

impl Tape {
    /// An empty tape for a device with these capabilities.
    pub fn new(caps: Caps) -> Self {
        Self { caps, next: PASS.0 + 1, made: Vec::new(), dispatches: Vec::new() }
    }

    /// The capabilities that the choice of variants depends on.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// A new tensor; its contents are undefined until a dispatch writes them.
    ///
    /// # Errors
    /// `invalid_argument` for more than five axes or an empty one; `limit_exceeded` for more bytes than the device
    /// binds.
    pub fn output(&mut self, dtype: DType, shape: &[u32]) -> Result<Tensor> {
        check_shape(dtype, shape)?;
        let buffer = self.make(dtype.bytes(shape), None, false, || describe(dtype, shape))?;
        Ok(Tensor { dtype, shape: shape.to_vec(), buffer })
    }

    /// A tensor in a buffer that is there already; its caller says which.
    pub fn adopted(&mut self, dtype: DType, shape: &[u32]) -> Tensor {
        let buffer = BufferId(self.next);
        self.next += 1;
        Tensor { dtype, shape: shape.to_vec(), buffer }
    }

    /// A buffer for this operation only.
    pub fn scratch(&mut self, bytes: u64) -> Result<Slice> {
        Ok(self.make(bytes, None, true, || "a temporary buffer".into())?.into())
    }

    /// A buffer with these bytes, for this operation only. For small tables.
    pub fn constant(&mut self, bytes: &[u8]) -> Result<Slice> {
        let contents = Some(bytes.to_vec());
        Ok(self.make(bytes.len() as u64, contents, true, || "a table".into())?.into())
    }

    /// Bound where a variant does not use a read-only binding.
    pub fn dummy(&self) -> Slice {
        DUMMY.into()
    }

    /// Bound where a kernel of language models reads the rows of a pass.
    pub fn pass(&self) -> Slice {
        PASS.into()
    }

    /// Adds a dispatch.
    pub fn push(&mut self, dispatch: Dispatch) {
        self.dispatches.push(dispatch);
    }

    /// Takes the dispatches and buffers recorded since the last call.
    pub fn take(&mut self) -> (Vec<Made>, Vec<Dispatch>) {
        (std::mem::take(&mut self.made), std::mem::take(&mut self.dispatches))
    }

    fn make(
        &mut self,
        bytes: u64,
        contents: Option<Vec<u8>>,
        temporary: bool,
        what: impl Fn() -> String,
    ) -> Result<BufferId> {
        let most = self.caps.max_binding.min(self.caps.max_buffer);
        if bytes > most {
            let message = format!("{} takes {bytes} bytes, this device binds {most}", what());
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let buffer = BufferId(self.next);
        self.next += 1;
        self.made.push(Made { buffer, bytes: bytes.next_multiple_of(16).max(16), contents, temporary });
        Ok(buffer)
    }
}

fn check_shape(dtype: DType, shape: &[u32]) -> Result<()> {
    let bad =
        |why: String| Err(Error::invalid_argument(format!("a tensor of shape {}: {why}", describe(dtype, shape))));
    if shape.len() > MAX_RANK {
        return bad(format!("{} axes, at most {MAX_RANK} are possible", shape.len()));
    }
    if shape.contains(&0) {
        return bad("an axis is empty".into());
    }
    let len = shape.iter().try_fold(1u32, |len, &n| len.checked_mul(n));
    if len.is_none_or(|len| len > i32::MAX as u32) {
        return bad(format!("at most {} elements are possible", i32::MAX));
    }
    if let DType::Quantised(ty) = dtype {
        let (_, cols) = rows_and_cols(shape);
        if !(cols as usize).is_multiple_of(ty.block_len()) {
            return bad(format!("rows of {cols} are not whole blocks of {}", ty.block_len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_checked() {
        let mut tape = Tape::new(Caps::baseline());
        let message =
            |tape: &mut Tape, dtype, shape: &[u32]| tape.output(dtype, shape).unwrap_err().message().to_owned();
        assert!(message(&mut tape, DType::F32, &[1; 6]).contains("6 axes, at most 5"));
        assert!(message(&mut tape, DType::F16, &[3, 0]).contains("[3, 0] f16: an axis is empty"));
        assert!(message(&mut tape, DType::U32, &[1 << 16, 1 << 16]).contains("at most 2147483647 elements"));
        assert!(message(&mut tape, DType::Quantised(GgmlType::Q4_0), &[2, 33]).contains("blocks of 32"));
        let large = tape.output(DType::F32, &[1 << 26]).unwrap_err();
        assert_eq!(large.code(), ErrorCode::LimitExceeded);
        assert!(tape.take().0.is_empty());
    }

    #[test]
    fn buffers_are_whole_vectors() {
        let mut tape = Tape::new(Caps::baseline());
        let odd = tape.output(DType::F16, &[3, 3]).unwrap();
        let scalar = tape.output(DType::F32, &[]).unwrap();
        tape.constant(&[1, 2, 3]).unwrap();
        assert_eq!((odd.len(), scalar.len()), (9, 1));
        let (made, _) = tape.take();
        assert_eq!(made.iter().map(|made| made.bytes).collect::<Vec<_>>(), [32, 16, 16]);
        assert_eq!(made.iter().map(|made| made.temporary).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn types_have_names() {
        for dtype in [DType::F32, DType::BF16, DType::I32, DType::Quantised(GgmlType::Q4_K)] {
            assert_eq!(DType::named(&dtype.name()), Some(dtype));
        }
        assert_eq!(DType::named("q4_k"), Some(DType::Quantised(GgmlType::Q4_K)));
        assert_eq!(DType::named("f64"), None);
    }
}
