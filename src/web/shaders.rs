//! Shaders that pages fetch after the WebAssembly, for the models and the devices that need them.

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::formats::give_grids;
use crate::gguf::TensorInfo;
use crate::kernels::caps::Caps;
use crate::kernels::shaders::{self, Given};
use crate::model::needs_rare;
use crate::runtime::Matched;

/// Whether a model needs the rare shaders and grids.
pub fn needs_rare_of(tensors: &[TensorInfo], matched: &Matched) -> bool {
    let types = matched.tensors.iter().map(|(index, _)| tensors[*index].ty);
    needs_rare(&crate::model::program(&matched.config), types)
}

/// Lets the page give the shaders and grids that few models and few devices need, where this is one.
pub async fn fetch_shaders(fetch: &JsValue, is_rare: bool, caps: Option<&Caps>) -> Result<(), JsValue> {
    let Some(fetch) = fetch.dyn_ref::<Function>() else { return Ok(()) };
    let of_device = caps.is_some_and(Caps::rounds_activations);
    for (_, name) in [(is_rare, "rare"), (of_device, "device")].into_iter().filter(|(needs, _)| *needs) {
        JsFuture::from(Promise::resolve(&fetch.call1(&JsValue::NULL, &name.into())?)).await?;
    }
    Ok(())
}

/// Takes what pages fetch for few models: the files of `shaders/rare/`, each behind a line `#file NAME`, and the codes
/// of all grids.
#[wasm_bindgen(js_name = giveRare)]
pub fn give_rare(shaders: String, grids: Vec<u8>) {
    shaders::give(Given::Rare, shaders);
    give_grids(grids);
}

/// Takes what pages fetch for few devices: the files of `shaders/device/`, each behind a line `#file NAME`.
#[wasm_bindgen(js_name = giveDevice)]
pub fn give_device(shaders: String) {
    shaders::give(Given::Device, shaders);
}
