//! A loaded model for `js/training/language/`: tensors on its device, and what it computes.

use js_sys::{Array, Float64Array};
use wasm_bindgen::prelude::*;

use super::engine::{WasmModel, borrow};
use super::errors::to_js;
use super::tensor::TensorEngine;
use crate::Error;
use crate::gguf::GgmlType;
use crate::kernels::shaders;
use crate::runtime::AnySession;
use crate::tensor::DType;

#[wasm_bindgen]
impl WasmModel {
    /// Its program on its device: a [`TensorEngine`], the numbers and the names of an
    /// [`Export`](crate::forward::Export), and its weights as tensors. `texts` are those of `TensorEngine::open`.
    #[wasm_bindgen(js_name = exportProgram)]
    pub fn export_program(&self, texts: String) -> Result<Array, JsValue> {
        let engine = borrow(&self.engine)?;
        let AnySession::Gpu(lane) = &engine.session else {
            return Err(to_js(Error::invalid_argument("training needs a model on WebGPU, this one is on the CPU")));
        };
        let model = lane.model();
        let export = model.export().map_err(to_js)?;
        shaders::give(texts);
        let tensors = TensorEngine::on(model.device().clone()).map_err(to_js)?;
        let weights = tensors.adopt(export.tensors.iter().map(|(ty, shape, id)| {
            let dtype = match ty {
                GgmlType::F32 => DType::F32,
                GgmlType::F16 => DType::F16,
                GgmlType::BF16 => DType::BF16,
                quantised => DType::Quantised(*quantised),
            };
            (dtype, *shape, model.buffer(*id))
        }))?;
        let numbers = Float64Array::from(export.numbers.as_slice());
        Ok([tensors.into(), numbers.into(), export.names.into(), weights].into_iter().collect())
    }
}
