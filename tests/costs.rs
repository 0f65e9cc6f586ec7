//! What dispatches cost (`harness::costs`): every kernel of models has a row, a token reads every weight once, and what
//! the rows and the numbers of a card predict is what the records have.
#![cfg(not(target_arch = "wasm32"))]

#[path = "../tools/costs/predict.rs"]
mod predict;
#[path = "../tools/costs/shapes.rs"]
mod shapes;
#[path = "common/tiny.rs"]
mod tiny;

use std::collections::BTreeSet;

use webgguf::ErrorCode;
use webgguf::forward::{BufferSpec, Buffers, Forward, Placement, Plan, Room, place};
use webgguf::gguf::{GgmlType, HeaderReader, TensorInfo, Value};
use webgguf::harness::all_cases_without_weights;
use webgguf::harness::costs::{Costed, Costs, Device, LOADING_KERNELS, Scene, kernels, work};
use webgguf::kernels::CATALOGUE;
use webgguf::kernels::caps::{Caps, MatrixShape, Precision};
use webgguf::kernels::kv_type::KvType;
use webgguf::kernels::shaders::FETCHED;
use webgguf::kernels::spec::Dispatch;
use webgguf::model::program::{Output, Program};
use webgguf::model::{ModelConfig, Role, architectures, flatten, match_tensors, program, weight_specs};

/// Devices whose tables choose different kernels.
fn devices() -> [Caps; 2] {
    let large = || Caps { max_binding: 2 << 30, max_buffer: 4 << 30, ..Caps::baseline() };
    let nvidia = Caps { subgroups: true, subgroup_size: (32, 32), dot4: true, vendor: "nvidia".into(), ..large() };
    [large(), nvidia.with_precision(Precision::Auto)]
}

#[test]
fn every_kernel_that_models_run_has_a_cost() {
    let of_models = CATALOGUE.iter().map(|spec| spec.kernel_name).filter(|name| !FETCHED.contains(name));
    let expected: BTreeSet<&str> = of_models.filter(|name| !LOADING_KERNELS.contains(name)).collect();
    assert_eq!(kernels().collect::<BTreeSet<&str>>(), expected);
    assert_eq!(kernels().count(), expected.len(), "each once");
}

/// The names that rows ask for are those of the shaders, in every variant: those of a device that has everything.
#[test]
fn the_cost_of_every_case_is_known() {
    let [_, nvidia] = devices();
    let caps = Caps { f16: true, subgroup_matrix: Some(MatrixShape::ALL[0]), workgroup_memory: 48 << 10, ..nvidia };
    let mut seen = BTreeSet::new();
    for case in all_cases_without_weights(&caps) {
        let spec = |(id, bytes): &(_, Vec<u8>)| BufferSpec::new(*id, String::new(), bytes.len() as u64);
        let plan = Plan { buffers: case.buffers.iter().map(spec).collect() };
        let of_models = |dispatch: &&Dispatch| kernels().any(|name| name == dispatch.kernel.spec.kernel_name);
        let is_new = |dispatch: &&Dispatch| of_models(dispatch) && seen.insert(dispatch.kernel.id.clone());
        for dispatch in case.dispatches.iter().filter(is_new) {
            let scene = Scene::new(u64::from(case.pass.header.rows).max(1), 0);
            let work = work(dispatch, &plan, scene).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let buffers: u64 = plan.buffers.iter().map(|buffer| buffer.bytes).sum();
            assert!(work.bytes() > 0 && work.weights <= buffers, "{} {}: {work:?}", case.variant, case.name);
        }
    }
    for kernel in kernels() {
        assert!(seen.iter().any(|id| id.split('.').next() == Some(kernel)), "no case of {kernel}");
    }
}

struct Model {
    program: Program,
    caps: Caps,
    placement: Placement,
    buffers: Buffers,
    plan: Plan,
}

impl Model {
    fn new(config: &ModelConfig, tensors: &[TensorInfo], caps: &Caps, room: Room) -> Self {
        let (program, mut plan) = (program(config), Plan::default());
        let matched = match_tensors(config, tensors).expect("all tensors");
        let placement = place(&program, caps, tensors, matched, &mut plan).expect("room");
        let buffers = match program.output {
            Output::Logits => Buffers::alloc(&program, config.vocab, room, &mut plan),
            _ => Buffers::for_batches(&program, 2048, &mut plan),
        };
        Self { program, caps: caps.clone(), placement, buffers, plan }
    }

    fn forward(&self) -> Forward<'_> {
        Forward::new(&self.program, &self.caps, &self.placement.weights, &self.buffers)
    }

    fn costs(&self) -> Costs<'_> {
        Costs { forward: self.forward(), plan: &self.plan }
    }

    /// Everything that the model may run.
    fn dispatches(&self) -> Vec<Dispatch> {
        let forward = self.forward();
        match self.program.output {
            Output::Logits => {
                let few = [
                    forward.lists_of_rows(8),
                    forward.lists_of_draft(8),
                    forward.lists_of_draft(4),
                    forward.lists_of_steps(1),
                ];
                let all = [forward.lists()].into_iter().chain(few);
                let head = forward.head_of_all(self.buffers.logits);
                all.flat_map(|lists| lists.all().cloned().collect::<Vec<_>>()).chain(head).collect()
            }
            _ => forward.batch_lists(2048).all().cloned().collect(),
        }
    }

    #[track_caller]
    fn check(&self, name: &str) {
        for dispatch in self.dispatches() {
            let cost = work(&dispatch, &self.plan, Scene::new(64, 0)).unwrap_or_else(|error| panic!("{name}: {error}"));
            let bound: u64 = self.plan.bytes();
            assert!(cost.bytes() > 0 && cost.weights <= bound, "{name}: {} {cost:?}", dispatch.kernel.id);
        }
    }
}

fn small(architecture: &str) -> ModelConfig {
    let mut metadata = tiny::metadata(architecture);
    for (key, number) in [("embedding_length", 512), ("feed_forward_length", 1280), ("attention.head_count", 8)] {
        metadata.insert(format!("{architecture}.{key}"), Value::U32(number));
    }
    for (key, value) in tiny::recurrent_keys(architecture, 512) {
        metadata.insert(key, value);
    }
    if architecture == "qwen" {
        // Files say twice the width.
        metadata.insert("qwen.feed_forward_length", Value::U32(2 * 1280));
    }
    let mut header = tiny::header(metadata);
    header.tensors.iter_mut().filter(|tensor| tensor.dims.len() > 1).for_each(|tensor| tensor.dims[0] = 512);
    webgguf::model::config(&header).expect("a good header")
}

#[test]
fn the_cost_of_every_dispatch_of_every_family_is_known() {
    for (architecture, caps) in architectures().flat_map(|name| devices().map(|caps| (name, caps))) {
        let config = small(architecture);
        let tensors = tiny::typed_tensors(&config, |_| GgmlType::Q8_0);
        Model::new(&config, &tensors, &caps, Room::one(4096).with_drafts(true)).check(architecture);
    }
}

#[test]
fn the_cost_of_every_dispatch_of_every_encoder_is_known() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/encoders");
    let files = std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|of| of == "gguf")).collect();
    let mut checked = 0;
    for (path, caps) in files.iter().flat_map(|path| devices().map(|caps| (path, caps))) {
        let bytes = std::fs::read(path).expect("a fixture");
        let read = HeaderReader::new(Some(bytes.len() as u64)).push(&bytes);
        let mut header = read.expect("a header").expect("a whole one");
        let config = match webgguf::model::config(&header) {
            // Fixtures of what only llama.cpp runs.
            Err(error) if error.code() == ErrorCode::UnsupportedArchitecture => continue,
            config => config.expect("a good header"),
        };
        flatten(&mut header);
        Model::new(&config, &header.tensors, &caps, Room::one(4096)).check(&path.display().to_string());
        checked += 1;
    }
    assert!(checked > 80, "{checked} programs of encoders were checked");
}

/// The model of `shapes.json`, of NVIDIA's card.
fn published(name: &str, ty: GgmlType) -> (Vec<TensorInfo>, ModelConfig, Model) {
    let (config, tensors) = shapes::shape(name, ty).expect("a shape");
    let [_, nvidia] = devices();
    let model = Model::new(&config, &tensors, &nvidia, Room::one(4096));
    (tensors, config, model)
}

fn sum(costed: &[Costed], of: impl Fn(&Costed) -> u64) -> u64 {
    costed.iter().map(of).sum()
}

/// Bytes of the matrices in the file but for the embedding, of which a token reads a row; where it is the head as well
/// it counts. The packed form differs by the padding of its sections.
fn matrices(config: &ModelConfig, tensors: &[TensorInfo]) -> (u64, u64) {
    let specs = weight_specs(config);
    let is_read = |role: Role| role != Role::TokenEmbedding || !tensors.iter().any(|of| of.name == "output.weight");
    let of = |tensor: &&TensorInfo| {
        let spec = specs.iter().find(|spec| spec.name == tensor.name).expect("a known tensor");
        !spec.values && is_read(spec.role)
    };
    let read = tensors.iter().filter(of);
    (read.clone().map(|tensor| tensor.bytes).sum(), 64 * read.count() as u64)
}

#[test]
fn a_token_reads_every_weight_once() {
    for (name, ty) in shapes::names()
        .expect("shapes")
        .iter()
        .flat_map(|name| [GgmlType::Q4_0, GgmlType::Q8_0, GgmlType::Q4_K].map(|ty| (name, ty)))
    {
        let (tensors, config, model) = published(name, ty);
        let read = sum(&model.costs().decode(512).expect("costs"), |of| of.work.weights);
        let (expected, padding) = matrices(&config, &tensors);
        assert!((expected..=expected + padding).contains(&read), "{name} {ty:?}: {read} bytes, {expected} in the file");
    }
}

#[test]
fn a_token_reads_the_matrices_of_the_experts_it_goes_to() {
    let config = small("qwen3moe");
    let tensors = tiny::typed_tensors(&config, |_| GgmlType::Q8_0);
    let [_, nvidia] = devices();
    let model = Model::new(&config, &tensors, &nvidia, Room::one(4096));
    let decode = model.costs().decode(0).expect("costs");
    let read = sum(&decode, |of| if of.kernel.starts_with("mat_vec_experts") { of.work.weights } else { 0 });
    let held: u64 = tensors.iter().filter(|of| of.name.contains("_exps.")).map(|tensor| tensor.bytes).sum();
    // Two of six.
    assert!((held / 3..held / 3 + 1000).contains(&read), "{read} bytes of {held}");
}

#[test]
fn a_prompt_reads_every_weight_once_for_each_chunk() {
    let (tensors, config, model) = published("llama-1b", GgmlType::Q8_0);
    let prefill = |tokens| sum(&model.costs().prefill(tokens).expect("costs"), |of| of.work.weights);
    let (expected, padding) = matrices(&config, &tensors);
    let head = tensors.iter().find(|tensor| tensor.name == "token_embd.weight").expect("an embedding").bytes;
    let last_layer = ["attn_output", "ffn_gate", "ffn_up", "ffn_down"].map(|name| format!("blk.15.{name}.weight"));
    let left_out: u64 = tensors.iter().filter(|of| last_layer.contains(&of.name)).map(|tensor| tensor.bytes).sum();
    // Each chunk ends in the last layer; the last token is a pass of its own.
    for (tokens, chunks) in [(512, 1), (1025, 2), (1026, 3)] {
        let all = chunks * (expected - head - left_out) + expected;
        assert!((all..=all + (chunks + 1) * padding).contains(&prefill(tokens)), "{tokens} tokens");
    }
}

#[test]
fn attention_reads_the_cache_up_to_its_position() {
    let (_, config, model) = published("llama-1b", GgmlType::Q4_0);
    let read = |position| {
        let decode = model.costs().decode(position).expect("costs");
        sum(&decode, |of| if of.kernel.starts_with("attention_decode") { of.work.memory } else { 0 })
    };
    let (layers, kv_heads, heads, head_dim) = (16, 8, 32, 64);
    assert_eq!(config.layers, layers);
    let row = u64::from(KvType::F16.row_bytes(head_dim as u32));
    // And partial sums of a split more for each 32 keys.
    let of_keys = 2 * kv_heads * row * 1024 + heads * head_dim * 4 * 1024 / 32;
    assert_eq!(read(1535) - read(511), layers as u64 * of_keys);
}

/// A device of round numbers, on which work of each kind has a time that one can work out.
fn round() -> Device {
    let text = r#"{ "read_gbps": 100, "cache_gbps": 1000, "tflops": 2, "dispatch_us": 10, "workgroup_ns": 0,
        "latency_us": 1, "threads": 16000, "wait_ms": 0, "caps": {} }"#;
    serde_json::from_str(text).expect("a device")
}

#[test]
fn a_token_on_a_slow_memory_takes_the_time_of_its_bytes() {
    let (_, _, model) = published("llama-8b", GgmlType::Q8_0);
    let decode = model.costs().decode(0).expect("costs");
    let slow = Device { read_gbps: 1.0, cache_gbps: 1e9, tflops: 1e9, dispatch_us: 0.0, latency_us: 0.0, ..round() };
    let us: f64 = decode.iter().map(|of| slow.time(&of.work).total()).sum();
    let bytes = sum(&decode, |of| of.work.bytes()) as f64;
    assert!((us / (bytes / 1e3) - 1.0).abs() < 1e-3, "{us} µs for {bytes} bytes");
    let launches = Device { dispatch_us: 100.0, ..slow };
    let more: f64 = decode.iter().map(|of| launches.time(&of.work).total()).sum();
    assert!((more - us - 100.0 * decode.len() as f64).abs() < 1.0, "{more} and {us} µs");
}

/// What is further from the records than that says why, until it no longer is.
#[test]
fn predictions_are_within_a_quarter_of_what_was_measured() {
    let rows = predict::Measured::all().expect("lines");
    assert!(rows.len() > 10);
    for row in rows {
        let predicted = row.predicted().expect("a device and a model");
        let is_outside = row.off(predicted).abs() > 0.25;
        assert_eq!(
            is_outside,
            row.outside.is_some(),
            "{:?}: {predicted:.0} for {:?} of {}",
            row.of,
            row.rate,
            row.record
        );
    }
}

#[test]
fn a_file_is_asked_as_a_shape_is() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/llama-q4_0.gguf").to_owned();
    let (_, device) = predict::device("laptop").expect("a device");
    let of = predict::Question { model, context: 8, prompt: 8, ..predict::Question::default() };
    let [token, prompt] = predict::passes(&of, &device).expect("costs");
    assert!(!token.is_empty() && !prompt.is_empty());
    let rows = predict::rows(&of, &device).expect("rows");
    assert!(rows.iter().any(|asked| asked.rows.len() > 1), "a table of several rows");
    assert!(rows.iter().all(|asked| asked.rows.iter().any(|(row, us)| *row == asked.table && us[0] > 0.0)));
    assert!(rows.iter().all(|asked| !asked.problem.is_empty()));
    let missing = predict::Question { model: "none".into(), ..of };
    assert!(predict::passes(&missing, &device).is_err_and(|error| error.contains("none")));
    assert!(predict::device("none").is_err_and(|error| error.contains("laptop")));
}
