//! A device as JavaScript passes it on: from a model to tensors, to a second model, or to the measurements of tuning.

use std::rc::Rc;

use wasm_bindgen::prelude::*;

use crate::gpu::Device;
use crate::runtime::Tuning;

/// A device that a model shares with tensors, or that a model is tuned on.
#[wasm_bindgen]
pub struct DeviceHandle {
    pub(super) device: Rc<Device>,
    /// A model on the device whose kernels are being chosen.
    pub(super) tuning: Option<Rc<Tuning>>,
}
