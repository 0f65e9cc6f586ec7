//! The class that `js/tensor/gpu.ts` wraps: tensors are known by number, operations by name. What is here and in
//! `src/tensor` is a file of its own in the package, which pages without tensors do not load: see `tools/modules.mjs`.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::device_handle::DeviceHandle;
use super::errors::{from_value, to_js, to_value};
use super::promise::promise;
use crate::gpu::{Buffer, Device, TensorGpu};
use crate::kernels::caps::Caps;
use crate::kernels::shaders::{self, Given};
use crate::tensor::options::Value;
use crate::tensor::shader::{self, Run, Text};
use crate::tensor::{DType, Tensor, op};
use crate::{Error, Result};

/// A device with its tensors.
#[wasm_bindgen]
#[derive(Clone)]
pub struct TensorEngine {
    engine: Rc<RefCell<Option<Tensors>>>,
}

/// A tensor for a model to fill.
pub(super) struct Target {
    pub device: Rc<Device>,
    pub buffer: Rc<Buffer>,
    tensor: Tensor,
}

struct Tensors {
    gpu: TensorGpu,
    live: BTreeMap<u32, Tensor>,
}

/// What JavaScript knows of a tensor. Mirrors `TensorHandle` in `js/wasm/webgguf.d.ts`.
#[derive(Serialize)]
struct Handle<'a> {
    id: u32,
    dtype: String,
    shape: &'a [u32],
}

/// Properties of a device. Mirrors `DeviceFacts` in `js/wasm/webgguf.d.ts`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceFacts {
    name: String,
    vendor: String,
    architecture: String,
    software: bool,
    features: Vec<String>,
    subgroup_size: [u32; 2],
    dot4: bool,
    limits: Limits,
}

/// The WebGPU limits that pages may want to know.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    max_buffer_size: u64,
    max_storage_buffer_binding_size: u64,
    max_storage_buffers_per_shader_stage: u32,
    max_compute_workgroup_storage_size: u32,
    max_compute_invocations_per_workgroup: u32,
    max_compute_workgroups_per_dimension: u32,
}

impl DeviceFacts {
    /// The properties of an open device.
    pub fn of(device: &Device) -> Self {
        let (adapter, limits) = (&device.adapter, device.raw.limits());
        let Caps { subgroup_size: (min, max), dot4, .. } = device.caps;
        Self {
            name: adapter.name.clone(),
            vendor: adapter.vendor.clone(),
            architecture: adapter.architecture.clone(),
            software: adapter.software,
            features: adapter.features.clone(),
            subgroup_size: [min, max],
            dot4,
            limits: Limits {
                max_buffer_size: limits.max_buffer_size,
                max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
                max_storage_buffers_per_shader_stage: limits.max_storage_buffers_per_shader_stage,
                max_compute_workgroup_storage_size: limits.max_compute_workgroup_storage_size,
                max_compute_invocations_per_workgroup: limits.max_compute_invocations_per_workgroup,
                max_compute_workgroups_per_dimension: limits.max_compute_workgroups_per_dimension,
            },
        }
    }
}

#[wasm_bindgen]
impl TensorEngine {
    /// Opens a device. `texts` has the shaders of [`FETCHED`](crate::kernels::shaders::FETCHED).
    pub fn open(texts: String) -> js_sys::Promise {
        shaders::give(Given::Tensors, texts);
        promise(async {
            let device = Device::open().await.map_err(to_js)?;
            Self::on(device.into()).map_err(to_js)
        })
    }

    /// The device, for loading a model on it.
    pub fn device(&self) -> std::result::Result<DeviceHandle, JsValue> {
        Ok(DeviceHandle { device: self.tensors().map_err(to_js)?.gpu.device().clone(), tuning: None })
    }

    /// The properties of the device.
    pub fn facts(&self) -> std::result::Result<JsValue, JsValue> {
        to_value(&DeviceFacts::of(self.tensors().map_err(to_js)?.gpu.device()))
    }

    /// Makes a tensor from these bytes.
    pub fn upload(&self, bytes: &[u8], dtype: &str, shape: JsValue) -> std::result::Result<JsValue, JsValue> {
        let shape: Vec<u32> = from_value(shape, "shape")?;
        let mut tensors = self.tensors().map_err(to_js)?;
        let tensor = dtype_named(dtype).and_then(|dtype| tensors.gpu.upload(dtype, &shape, bytes)).map_err(to_js)?;
        to_value(&tensors.keep(tensor))
    }

    /// Queues an operation; returns the tensors that it makes.
    pub fn run(&self, name: &str, inputs: JsValue, options: JsValue) -> std::result::Result<JsValue, JsValue> {
        let inputs: Vec<Option<u32>> = from_value(inputs, name)?;
        let mut tensors = self.tensors().map_err(to_js)?;
        let made = tensors.run(name, &inputs, options).map_err(to_js)?;
        handles(&made)
    }

    /// The number of a shader given as text: see [`number_of`](shader::number_of).
    pub fn shader(
        &self,
        label: &str,
        code: &str,
        names: &str,
        inputs: u32,
        outputs: u32,
    ) -> std::result::Result<u32, JsValue> {
        shader::number_of(&Text { label, code, names, inputs, outputs }).map_err(to_js)
    }

    /// Queues the shader with this number; returns the tensors that it makes. See [`shader`].
    pub fn dispatch(
        &self,
        shader: u32,
        constants: &[f64],
        inputs: &[u32],
        outputs: &[u32],
        words: &[u32],
    ) -> std::result::Result<JsValue, JsValue> {
        let mut tensors = self.tensors().map_err(to_js)?;
        let made = tensors.dispatch(&Run { shader, constants, words }, inputs, outputs).map_err(to_js)?;
        handles(&made)
    }

    /// Waits for a tensor's values: little-endian elements in order, padded to whole words.
    pub async fn read(&self, id: u32) -> std::result::Result<Vec<u8>, JsValue> {
        let reading = {
            let mut tensors = self.tensors().map_err(to_js)?;
            let tensor = tensors.tensor("data", id).map_err(to_js)?.clone();
            tensors.gpu.read(&tensor)
        };
        reading.await.map_err(to_js)
    }

    /// Frees a tensor. Does nothing if it is freed already, or after `destroy`.
    pub fn free_tensor(&self, id: u32) {
        let Ok(mut tensors) = self.tensors() else { return };
        if let Some(tensor) = tensors.live.remove(&id) {
            tensors.gpu.free(&tensor);
        }
    }

    /// Frees all tensors, and the device unless models are on it. Does nothing the second time.
    pub fn destroy(&self) {
        self.engine.borrow_mut().take();
    }

    /// Tensors on a device that is open.
    #[inline(never)]
    pub(super) fn on(device: Rc<Device>) -> Result<Self> {
        let engine = RefCell::new(Some(Tensors { gpu: TensorGpu::new(device)?, live: BTreeMap::new() }));
        Ok(Self { engine: engine.into() })
    }

    /// What JavaScript gets of a model's weights as tensors: type, rows (0 for vectors) and columns, buffer.
    pub(super) fn adopt<'b>(
        &self,
        weights: impl Iterator<Item = (DType, [u32; 2], &'b Rc<Buffer>)>,
    ) -> std::result::Result<JsValue, JsValue> {
        let tensors = &mut *self.tensors().map_err(to_js)?;
        let adopt = |(dtype, shape, of): (_, [u32; 2], &Rc<Buffer>)| {
            tensors.gpu.adopt(dtype, &shape[usize::from(shape[0] == 0)..], of.clone())
        };
        let made: Vec<Tensor> = weights.map(adopt).collect();
        made.iter().for_each(|tensor| drop(tensors.keep(tensor.clone())));
        handles(&made)
    }

    /// Makes a tensor of f32 for a model to fill.
    pub(super) fn output(&self, shape: &[u32]) -> Result<Target> {
        let gpu = &mut self.tensors()?.gpu;
        let tensor = gpu.output(DType::F32, shape)?;
        Ok(Target { device: gpu.device().clone(), buffer: gpu.buffer(&tensor), tensor })
    }

    /// The handle of a tensor that a model was to fill. Where filling failed or was cancelled, the tensor is freed.
    pub(super) fn filled(&self, target: Target, outcome: Result<bool>) -> std::result::Result<JsValue, JsValue> {
        let mut tensors = self.tensors().map_err(to_js)?;
        if let Ok(true) = outcome {
            return to_value(&tensors.keep(target.tensor));
        }
        tensors.gpu.free(&target.tensor);
        outcome.map(|_| JsValue::UNDEFINED).map_err(to_js)
    }

    fn tensors(&self) -> Result<RefMut<'_, Tensors>> {
        let destroyed = || Error::invalid_argument("the Gpu was destroyed");
        RefMut::filter_map(self.engine.borrow_mut(), Option::as_mut).map_err(|_| destroyed())
    }
}

impl Tensors {
    fn tensor(&self, op: &str, id: u32) -> Result<&Tensor> {
        self.live.get(&id).ok_or_else(|| Error::invalid_argument(format!("{op}: the tensor was freed")))
    }

    fn run(&mut self, name: &str, inputs: &[Option<u32>], options: JsValue) -> Result<Vec<Tensor>> {
        let look_up = |id: &Option<u32>| id.map(|id| self.tensor(name, id).cloned()).transpose();
        let inputs: Vec<Option<Tensor>> = inputs.iter().map(look_up).collect::<Result<_>>()?;
        let inputs: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_ref).collect();
        let options = value_of(&options, DEPTH);
        let made = self.gpu.record(|tape| op::run(tape, name, &inputs, options))?;
        self.live.extend(made.iter().map(|tensor| (tensor.buffer.0, tensor.clone())));
        Ok(made)
    }

    fn dispatch(&mut self, run: &Run, inputs: &[u32], outputs: &[u32]) -> Result<Vec<Tensor>> {
        let inputs = inputs.iter().map(|&id| self.tensor("shader", id).cloned()).collect::<Result<Vec<_>>>()?;
        let made = self.gpu.record(|tape| shader::run(tape, run, &inputs, outputs))?;
        self.live.extend(made.iter().map(|tensor| (tensor.buffer.0, tensor.clone())));
        Ok(made)
    }

    fn keep(&mut self, tensor: Tensor) -> Handle<'_> {
        let id = tensor.buffer.0;
        handle(self.live.entry(id).insert_entry(tensor).into_mut())
    }
}

/// Maximum depth to which nested options are read, such as steps of a chain and their arguments.
const DEPTH: u32 = 4;

/// Converts options from JavaScript.
fn value_of(value: &JsValue, depth: u32) -> Value {
    if let Some(flag) = value.as_bool() {
        return Value::Flag(flag);
    }
    if let Some(number) = value.as_f64() {
        return Value::Number(number);
    }
    if let Some(text) = value.as_string() {
        return Value::Text(text);
    }
    let Some(object) = value.dyn_ref::<js_sys::Object>().filter(|_| depth > 0) else { return Value::Nothing };
    // Arrays, and typed arrays.
    if let Ok(Some(values)) = js_sys::try_iter(value) {
        return Value::List(values.flatten().map(|value| value_of(&value, depth - 1)).collect());
    }
    let entry = |entry: JsValue| {
        let entry = js_sys::Array::from(&entry);
        (entry.get(0).as_string().unwrap_or_default(), value_of(&entry.get(1), depth - 1))
    };
    Value::object(js_sys::Object::entries(object).iter().map(entry))
}

#[inline(never)]
fn handles(made: &[Tensor]) -> std::result::Result<JsValue, JsValue> {
    let handles: Vec<Handle> = made.iter().map(handle).collect();
    to_value(&handles)
}

fn handle(tensor: &Tensor) -> Handle<'_> {
    Handle { id: tensor.buffer.0, dtype: tensor.dtype.name(), shape: &tensor.shape }
}

fn dtype_named(name: &str) -> Result<DType> {
    DType::named(name).ok_or_else(|| Error::invalid_argument(format!("there is no dtype '{name}'")))
}
