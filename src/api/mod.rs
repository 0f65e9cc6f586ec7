//! The crate's API for Rust programs, all of it in the crate's root: models, and tensors on the GPU.
//!
//! Models are what `WasmModel` is for JavaScript, tensors what `Gpu` is.
//!
//! An operation checks its inputs and queues its dispatches through `tensor`, which holds the checks and their
//! messages; these name operations as JavaScript does (`rmsNorm`). Here is only what Rust needs besides: tensors that
//! free themselves, and the way from slices to the GPU and back.

mod device;
mod elementwise;
mod expression;
mod matrix;
mod model;
#[cfg(not(target_arch = "wasm32"))]
mod models;
mod movement;
mod rows;
mod shape;
mod tensor;

pub use device::{Device, DeviceInfo, Element};
pub use elementwise::Operand;
pub use expression::{Expression, Value};
pub use model::SelectiveScan;
#[cfg(not(target_arch = "wasm32"))]
pub use models::{
    Backend, ChosenToken, Drafting, FinishReason, GenerateOptions, KvType, LoadOptions, Model, ModelInfo, Outcome,
    Piece, Pieces, Pooling, SamplingOptions,
};
pub use rows::NormInputs;
pub use shape::Shape;
pub use tensor::Tensor;

pub use crate::gguf::GgmlType;
pub use crate::kernels::mat_mul_dense::{Activation, Precision};
pub use crate::kernels::swiglu::Gate;
pub use crate::tensor::DType;
pub use crate::tensor::attention::AttentionOptions;
pub use crate::tensor::fused::{GateUpOptions, GatedOptions, ProjectOptions};
pub use crate::tensor::kv_cache::{AttentionDecodeOptions, KvWriteOptions};
pub use crate::tensor::matmul::MatmulOptions;
pub use crate::tensor::norm::{NormOptions, SinkhornOptions, SoftmaxOptions};
pub use crate::tensor::reduce::{ArgmaxOptions, ReduceOp, ReduceOptions};
pub use crate::tensor::rope::{Layout, Pairing, RopeOptions, RopeTableOptions, YarnOptions};
pub use crate::tensor::scan::CumsumOptions;
