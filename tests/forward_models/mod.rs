//! Every committed model on the GPU against the CPU reference, which is compared with llama.cpp elsewhere. A model
//! that has not changed since it agreed is not run again: its digest is of its file and of all that it makes the GPU
//! do.

use std::hash::Hasher;

use wasm_bindgen_test::wasm_bindgen_test;
use webgguf::forward::{Buffers, Forward, Plan, Room, place};
use webgguf::gpu::Device;
use webgguf::harness::Digest;
use webgguf::kernels::caps::Caps;
use webgguf::kernels::spec::Dispatch;
use webgguf::model::match_tensors;

use super::agreed::{is_known, tell};
use super::{CONTEXT, both, compare, device, header};

const AGREED: &str = include_str!("../fixtures/agreed/models.txt");

/// The lists of a model: what reads a prompt, what writes a token, and the logits of all rows.
fn dispatches(caps: &Caps, file: &[u8]) -> Vec<Dispatch> {
    let gguf = header(file);
    let config = webgguf::model::config(&gguf).expect("a known model");
    let matched = match_tensors(&config, &gguf.tensors).expect("all tensors");
    let program = webgguf::model::program(&config);
    let mut plan = Plan::default();
    let weights = place(&program, caps, &gguf.tensors, matched, &mut plan).expect("room").weights;
    let buffers = Buffers::alloc(&program, config.vocab, Room::one(CONTEXT), &mut plan);
    let forward = Forward::new(&program, caps, &weights, &buffers);
    forward.lists().all().cloned().chain(forward.head_of_all(buffers.logits)).collect()
}

/// The digest of a file and of its dispatches.
fn digest(device: &Device, dispatches: &[Dispatch], file: &[u8]) -> Digest {
    let mut digest = Digest::new(device);
    digest.write(file);
    digest.write_dispatches(dispatches);
    digest
}

async fn agree(name: &str, file: &[u8]) {
    let device = device().await;
    let digest = digest(&device, &dispatches(&device.caps, file), file);
    if is_known(name, &digest, AGREED) {
        return;
    }
    compare(name, both(file).await).await;
    tell(name, &digest);
}

/// A test per model; `models.rs` is written with the expectations, and names of files are relative to it.
macro_rules! model {
    ($test:ident, $name:literal) => {
        #[wasm_bindgen_test(unsupported = pollster::test)]
        async fn $test() {
            agree($name, include_bytes!(concat!($name, ".gguf"))).await;
        }
    };
}

/// The same model in another wrapping, which is nothing to a GPU.
macro_rules! copy {
    ($test:ident, $name:literal) => {};
}

include!("../fixtures/models/models.rs");

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_digest_is_of_all_that_a_model_makes_the_gpu_do() {
    let file = include_bytes!("../fixtures/models/llama-q8_0.gguf");
    let device = device().await;
    let lists = || dispatches(&device.caps, file);
    let text = |dispatches: &[Dispatch], file| digest(&device, dispatches, file).text();
    let before = text(&lists(), file);
    assert_eq!(text(&lists(), file), before, "the same again");
    let mut other_file = file.to_vec();
    *other_file.last_mut().expect("a file") ^= 1;
    assert_ne!(text(&lists(), &other_file), before, "another weight");
    let last = |change: fn(&mut Dispatch)| {
        let mut dispatches = lists();
        change(dispatches.last_mut().expect("dispatches"));
        text(&dispatches, file)
    };
    let changed = [
        last(|dispatch| dispatch.kernel.constants[0].1 += 1.0),
        last(|dispatch| dispatch.kernel.text = Some("fn main() {}")),
        last(|dispatch| dispatch.params[0] ^= 1),
        last(|dispatch| dispatch.buffers.swap(0, 1)),
        last(|dispatch| dispatch.grid.swap(0, 1)),
        text(&lists()[1..], file),
    ];
    for (n, other) in changed.iter().enumerate() {
        assert_ne!(*other, before, "change {n}");
    }
}
