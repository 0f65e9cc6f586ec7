//! Every committed model on the GPU against the CPU reference, which is compared with llama.cpp elsewhere. A model
//! that has not changed since it agreed is not run again: `agreed.txt` has a digest of each model's file and of all
//! that the model makes the GPU do. `npm run models` runs all models and writes the digests,
//! `npm run models -- changed` those that have changed.

use std::hash::{Hash, Hasher};

use wasm_bindgen_test::{console_log, wasm_bindgen_test};
use webgguf::forward::{Buffers, Forward, Plan, Room, place};
use webgguf::kernels::caps::Caps;
use webgguf::kernels::spec::Dispatch;
use webgguf::model::match_tensors;

use super::{CONTEXT, both, compare, device, header};

/// Lines of a name and a digest.
const AGREED: &str = include_str!("../fixtures/models/agreed.txt");
/// Whether those that have not changed run, too.
const RUN_ALL: bool = option_env!("WEBGGUF_MODELS").is_some();

/// FNV-1a with 64 bits: the same on every machine, unlike the hashers of the standard library, of which nobody promises
/// that.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

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

/// A digest of the file and of the dispatches: shaders, constants, parameters, buffers and workgroups.
fn digest(dispatches: &[Dispatch], file: &[u8]) -> String {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.write(file);
    for Dispatch { kernel, params, buffers, grid } in dispatches {
        hash.write(kernel.key().as_bytes());
        hash.write(kernel.wgsl().as_bytes());
        hash.write(params);
        // Numbers of 32 and 64 bits: the same bytes wherever tests run.
        buffers.hash(&mut hash);
        hash.write(format!("{grid:?}").as_bytes());
    }
    format!("{:016x}", hash.finish())
}

async fn agree(name: &str, file: &[u8]) {
    let digest = digest(&dispatches(&device().await.caps, file), file);
    let line = format!("{name} {digest}");
    if !RUN_ALL && AGREED.lines().any(|agreed| agreed == line) {
        console_log!("{name}: as it was when it agreed");
        return;
    }
    compare(name, both(file).await).await;
    console_log!("agreed: {line}");
}

/// A test per model; `models.rs` is written with the expectations, and names of files are relative to it.
macro_rules! model {
    ($test:ident, $name:literal) => {
        #[wasm_bindgen_test]
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

#[wasm_bindgen_test]
async fn a_digest_is_of_all_that_a_model_makes_the_gpu_do() {
    let file = include_bytes!("../fixtures/models/llama-q8_0.gguf");
    let caps = device().await.caps.clone();
    let lists = || dispatches(&caps, file);
    let before = digest(&lists(), file);
    assert_eq!(digest(&lists(), file), before, "the same again");
    let mut other_file = file.to_vec();
    *other_file.last_mut().expect("a file") ^= 1;
    assert_ne!(digest(&lists(), &other_file), before, "another weight");
    let last = |change: fn(&mut Dispatch)| {
        let mut dispatches = lists();
        change(dispatches.last_mut().expect("dispatches"));
        digest(&dispatches, file)
    };
    let changed = [
        last(|dispatch| dispatch.kernel.constants[0].1 += 1.0),
        last(|dispatch| dispatch.kernel.text = Some("fn main() {}")),
        last(|dispatch| dispatch.params[0] ^= 1),
        last(|dispatch| dispatch.buffers.swap(0, 1)),
        last(|dispatch| dispatch.grid.swap(0, 1)),
        digest(&lists()[1..], file),
    ];
    for (n, other) in changed.iter().enumerate() {
        assert_ne!(*other, before, "change {n}");
    }
}
