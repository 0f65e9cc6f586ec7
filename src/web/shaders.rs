//! Shaders and code that pages fetch after the WebAssembly, for the models and the devices that need them.

use js_sys::{Array, Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::formats::give_grids;
use crate::gguf::{Gguf, Metadata, TensorInfo};
use crate::kernels::caps::Caps;
use crate::kernels::shaders::{self, Given};
use crate::model::{expects_rare, has_rare_code, is_encoder, is_rare, needs_rare};
use crate::runtime::Matched;

/// What a model needs that pages fetch after the WebAssembly.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needed {
    /// Shaders and grids that few models need.
    pub rare: bool,
    /// Shaders that few devices need.
    pub device: bool,
    /// The part of the WebAssembly for rare families.
    pub families: bool,
    /// The part for encoders, which reads what their headers say, too.
    pub encoders: bool,
}

impl Needed {
    /// What a file needs before its program can be made.
    pub fn by_header(metadata: &Metadata) -> Self {
        Self { families: is_rare(metadata), encoders: is_encoder(metadata), ..Self::default() }
    }

    /// The same, and the shaders that its program will need.
    pub fn at_first(gguf: &Gguf) -> Self {
        let types = gguf.tensors.iter().map(|tensor| tensor.ty);
        Self { rare: expects_rare(&gguf.metadata, types), ..Self::by_header(&gguf.metadata) }
    }

    /// What a model needs on a device, or on the CPU.
    pub fn of(tensors: &[TensorInfo], matched: &Matched, caps: Option<&Caps>) -> Self {
        let types = matched.tensors.iter().map(|(index, _)| tensors[*index].ty);
        let program = crate::model::program(&matched.config);
        let device = caps.is_some_and(Caps::rounds_activations);
        Self { rare: needs_rare(&program, types), device, families: has_rare_code(&program), encoders: false }
    }
}

/// Lets the page give shaders and grids, and link code, before a model runs that needs them. `with` is a function that
/// takes the name of what is needed, and returns a promise: all that is needed is asked for at once.
pub async fn fetch(with: &JsValue, Needed { rare, device, families, encoders }: Needed) -> Result<(), JsValue> {
    let Some(with) = with.dyn_ref::<Function>() else { return Ok(()) };
    let named = [(rare, "rare"), (device, "device"), (families, "families"), (encoders, "encoders")];
    let asked = named.into_iter().filter(|(needs, _)| *needs);
    let asked = asked.map(|(_, name)| with.call1(&JsValue::NULL, &name.into())).collect::<Result<Array, _>>()?;
    JsFuture::from(Promise::all(&asked)).await?;
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
