//! A loaded model for `js/training/language/`: tensors on its device, and what it computes.

use js_sys::{Array, Uint32Array};
use wasm_bindgen::prelude::*;

use super::engine::WasmModel;
use super::errors::to_js;
use super::tensor::TensorEngine;
use crate::Error;
use crate::gguf::GgmlType;
use crate::kernels::shaders::{self, Given};
use crate::kernels::spec::BufferId;
use crate::runtime::AnySession;
use crate::tensor::DType;

#[wasm_bindgen]
impl WasmModel {
    /// Exports the model's program on its device: a [`TensorEngine`], the words and the names of an
    /// [`Export`](crate::forward::Export), and the weights as tensors. `texts` as for `TensorEngine::open`.
    #[wasm_bindgen(js_name = exportProgram)]
    pub fn export_program(&self, texts: String) -> Result<Array, JsValue> {
        let engine = self.engine.text()?;
        let AnySession::Gpu(lane) = &engine.session else {
            return Err(to_js(Error::invalid_argument("training needs a model on WebGPU, this one is on the CPU")));
        };
        let model = lane.model();
        let export = model.export();
        shaders::give(Given::Tensors, texts);
        let tensors = TensorEngine::on(model.device().clone()).map_err(to_js)?;
        let weight = |(ty, shape, id): &(GgmlType, [u32; 2], BufferId)| {
            (DType::named(ty.key()).unwrap_or(DType::F32), *shape, model.buffer(*id))
        };
        let weights = tensors.adopt(export.tensors.iter().map(weight))?;
        let made = Array::new();
        made.push(&tensors.into());
        made.push(&Uint32Array::from(export.words.as_slice()).into());
        made.push(&export.names.into());
        made.push(&weights);
        Ok(made)
    }
}
