//! The device of the tests of a program that need none of their own.

use std::cell::RefCell;
use std::rc::Rc;

use webgguf::gpu::Device;

thread_local! {
    static DEVICE: RefCell<Option<Rc<Device>>> = const { RefCell::new(None) };
}

/// One for all: each shader is compiled once on it, which takes longer than to run it. After an error, such as a test
/// that failed may leave, it is another one.
pub async fn device() -> Rc<Device> {
    if let Some(open) = DEVICE.take().filter(|device| device.check().is_ok()) {
        DEVICE.set(Some(open.clone()));
        return open;
    }
    let opened = Rc::new(Device::open().await.expect("a WebGPU device"));
    // It outlives its thread, whose end would close it after wgpu's own data of the thread are gone.
    #[cfg(not(target_arch = "wasm32"))]
    std::mem::forget(opened.clone());
    DEVICE.set(Some(opened.clone()));
    opened
}
