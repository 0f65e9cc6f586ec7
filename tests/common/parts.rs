//! Files with several programs, of which tests run each: on the CPU, and with the feature `gpu-tests` on a GPU, too.

use webgguf::cpu::{CacheFormat, CpuModel, Input};
use webgguf::gguf::{Gguf, HeaderReader, Value};
use webgguf::model::{EncoderInput, Fold, ModelConfig, PART, flatten, match_tensors, rounded_kernel};

#[cfg(feature = "gpu-tests")]
use super::device;
use super::yielding;

/// A file of tests/fixtures/encoders.
pub struct Parts(pub &'static str);

impl Parts {
    fn bytes(&self) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/encoders");
        std::fs::read(format!("{folder}/{}.gguf", self.0)).expect("a fixture")
    }

    /// What llama.cpp says of it.
    pub fn expected(&self) -> serde_json::Value {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/encoders");
        let file = format!("{folder}/{}.json", self.0);
        serde_json::from_slice(&std::fs::read(file).expect("expectations")).expect("JSON")
    }

    pub fn open(&self, part: Option<&str>) -> Gguf {
        let bytes = self.bytes();
        let mut gguf =
            HeaderReader::new(Some(bytes.len() as u64)).push(&bytes).expect("a header").expect("a whole one");
        part.into_iter().for_each(|part| drop(gguf.metadata.insert(PART, Value::String(part.into()))));
        gguf
    }

    /// A part with room for `rows` rows.
    pub fn load(&self, part: &str, rows: usize) -> CpuModel {
        let (bytes, mut gguf) = (self.bytes(), self.open(Some(part)));
        let config = config(&gguf).expect(part);
        flatten(&mut gguf);
        let matched = match_tensors(&config, &gguf.tensors).expect(part);
        let mut builder = CpuModel::builder(config);
        for (index, spec) in matched {
            let tensor = &gguf.tensors[index];
            let own = &bytes[tensor.offset as usize..][..tensor.bytes as usize];
            builder.put(&spec, tensor.ty, rounded_kernel(false, tensor, own).into_owned()).expect(part);
        }
        builder.build(rows, CacheFormat::F32).expect(part)
    }

    pub fn run(&self, part: &str, input: &EncoderInput) -> Vec<f32> {
        let mut model = self.load(part, input.rows);
        let (found, _) = yielding::count_yields(model.embed(Input::Image(input), async || (), &|| false));
        let found = found.expect(part).expect("nobody stops it");
        #[cfg(feature = "gpu-tests")]
        near(&self.on_gpu(part, input), &found);
        found
    }

    /// The same on a native GPU.
    #[cfg(feature = "gpu-tests")]
    fn on_gpu(&self, part: &str, input: &EncoderInput) -> Vec<f32> {
        use webgguf::runtime::{GpuModelBuilder, GpuRun};
        let (bytes, mut gguf) = (self.bytes(), self.open(Some(part)));
        let config = config(&gguf).expect(part);
        flatten(&mut gguf);
        let matched = match_tensors(&config, &gguf.tensors).expect(part);
        let context = config.context_length;
        pollster::block_on(async {
            let device = device::device().await;
            let caps = device.caps.clone();
            let mut builder =
                GpuModelBuilder::new(device, caps, config, context, &gguf.tensors, matched).expect("room");
            for (index, tensor) in gguf.tensors.iter().enumerate() {
                for slice in builder.slices(index) {
                    let at = (tensor.offset + slice.offset) as usize;
                    builder.put(index, &slice, &bytes[at..at + slice.bytes as usize]).expect("a good slice");
                }
            }
            let GpuRun::Embedder(mut embedder) = builder.finish_any().await.expect("command lists") else {
                panic!("{part} writes no text");
            };
            let mut found = Vec::new();
            let take = &mut |bytes: &[u8]| found.extend_from_slice(bytes);
            assert!(embedder.encode(input, &Default::default(), take).await.expect(part));
            bytemuck::pod_collect_to_vec(&found)
        })
    }
}

pub fn config(gguf: &Gguf) -> webgguf::Result<ModelConfig> {
    webgguf::model::config(gguf)
}

/// A fold of `before` rows to `behind`, by a function that says which row a tap is.
pub fn fold(before: usize, [behind, taps]: [usize; 2], row: impl Fn(i64, i64) -> i64) -> Fold {
    let all = (0..behind as i64).flat_map(|at| (0..taps as i64).map(move |tap| (at, tap)));
    let rows: Vec<i64> = all.map(|(at, tap)| row(at, tap)).collect();
    let weights = rows.iter().map(|&row| f32::from(row >= 0).to_bits()).collect();
    Fold { rows: before, taps: [rows.iter().map(|&row| row.max(0) as u32).collect(), weights] }
}

pub fn floats(values: &serde_json::Value) -> Vec<f32> {
    let values = values.as_array().expect("an array");
    values.iter().flat_map(|value| value.as_f64().map_or_else(|| floats(value), |value| vec![value as f32])).collect()
}

#[track_caller]
pub fn near(found: &[f32], wanted: &[f32]) {
    let peak = wanted.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let apart = found.iter().zip(wanted).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
    assert!(found.len() >= wanted.len() && apart < 1e-3 * peak, "{} of {peak}", apart);
}
