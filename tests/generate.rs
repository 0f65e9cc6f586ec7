//! The loop from prompt to text on the host: over a session that keeps tokens in flight as the GPU does, and over the
//! CPU.

mod common {
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod yielding;
}

use std::cell::Cell;
use std::collections::VecDeque;

use common::yielding::count_yields;
use webgguf::gguf::{Gguf, HeaderReader};
use webgguf::kernels::kv_type::KvType;
use webgguf::model::ModelConfig;
use webgguf::model::{Role, match_tensors};
use webgguf::reference::{CacheFormat, CpuModel};
use webgguf::runtime::{CpuSession, Engine, GenerateOptions, NO_TOKEN, RunIds, Session, Token};
use webgguf::sampler::SamplingOptions;
use webgguf::tokenizer::Tokenizer;
use webgguf::{ErrorCode, Result};

/// Tokens that the session below keeps in flight, at most.
const DEPTH: usize = 16;

/// Tokens come back one after the other, as those of the GPU do; each is made of all before it.
struct InFlight {
    config: ModelConfig,
    cache: Vec<u32>,
    flying: VecDeque<u32>,
    /// Submitted last.
    last: u32,
    /// What `feed` gives, where it is not what it should be.
    broken: Option<Broken>,
}

#[derive(Clone, Copy, PartialEq)]
enum Broken {
    /// Nothing comes of it.
    Lost,
    /// Every logit is NaN.
    NaN,
}

impl InFlight {
    fn submit(&mut self) {
        let mixed = self.cache.iter().fold(17_u32, |mixed, id| mixed.wrapping_mul(31).wrapping_add(*id));
        self.last = mixed % self.config.vocab as u32;
        self.flying.push_back(self.last);
    }

    fn token(&mut self) -> Option<Token> {
        self.flying.pop_front().map(|id| Token { id, end: false })
    }
}

impl Session for InFlight {
    fn config(&self) -> &ModelConfig {
        &self.config
    }

    fn context_length(&self) -> usize {
        128
    }

    fn kv_type(&self) -> KvType {
        KvType::F16
    }

    fn configure(&mut self, _: &SamplingOptions, _: &RunIds, _: &[u32]) {}

    fn rewind(&mut self, position: usize) -> usize {
        position
    }

    async fn feed(&mut self, ids: &[u32], position: usize, _: &Cell<bool>) -> Result<usize> {
        self.flying.clear();
        self.cache.truncate(position);
        assert_eq!(self.cache.len(), position, "the cache holds what comes before");
        self.cache.extend(ids);
        match self.broken {
            None => self.submit(),
            Some(Broken::Lost) => {}
            Some(Broken::NaN) => self.flying.push_back(NO_TOKEN),
        }
        Ok(ids.len())
    }

    fn step(&mut self) -> Result<bool> {
        if self.flying.len() == DEPTH || self.broken == Some(Broken::Lost) {
            return Ok(false);
        }
        self.cache.push(self.last);
        self.submit();
        Ok(true)
    }

    fn in_flight(&self) -> usize {
        self.flying.len()
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        Ok(self.token())
    }

    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        Ok(None)
    }

    async fn logits_of_all(&mut self, _: &[u32], _: usize) -> Result<Vec<f32>> {
        unreachable!("nothing is evaluated here")
    }
}

fn read() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/llama-q8_0.gguf")).expect("a file")
}

fn header(file: &[u8]) -> Gguf {
    let mut reader = HeaderReader::new(Some(file.len() as u64));
    reader.push(file).expect("a good header").expect("the whole header")
}

/// The model of the file on the CPU, with NaN for the weights of its last norm.
fn model_with_nan_norm() -> CpuModel {
    let file = read();
    let gguf = header(&file);
    let config = webgguf::model::config(&gguf).expect("good settings");
    let mut builder = CpuModel::builder(config.clone());
    for (index, spec) in match_tensors(&config, &gguf.tensors).expect("all tensors") {
        let tensor = &gguf.tensors[index];
        let mut bytes = file[tensor.offset as usize..tensor.end() as usize].to_vec();
        if spec.role == Role::OutputNorm {
            bytes = f32::NAN.to_le_bytes().repeat(bytes.len() / 4);
        }
        builder.put(&spec, tensor.ty, bytes).expect("bytes that fit");
    }
    builder.build(128, CacheFormat::F16).expect("a whole model")
}

fn engine(broken: Option<Broken>) -> Engine<InFlight> {
    let gguf = header(&read());
    let config = webgguf::model::config(&gguf).expect("a known model");
    let session = InFlight { config, cache: Vec::new(), flying: VecDeque::new(), last: 0, broken };
    Engine::new(session, Tokenizer::from_metadata(&gguf.metadata).expect("a vocabulary"))
}

fn options(max_tokens: usize) -> GenerateOptions {
    let sampling = SamplingOptions::default();
    GenerateOptions {
        max_tokens: Some(max_tokens),
        sampling,
        stop: Vec::new(),
        ignore_eos: true,
        show_special: Vec::new(),
    }
}

fn next<S: Session>(engine: &mut Engine<S>) -> Result<Option<Vec<u32>>> {
    // A clock that stands still: as many tokens in flight as there may be.
    let (piece, _) = count_yields(engine.next(|| 0.0));
    Ok(piece?.map(|piece| piece.ids))
}

fn whole_run<S: Session>(engine: &mut Engine<S>, prompt: &[u32], max_tokens: usize) -> Vec<u32> {
    engine.start(prompt.to_vec(), options(max_tokens), 0.0).expect("a good prompt");
    while next(engine).expect("a working device").is_some() {}
    engine.finish().expect("a run").ids
}

#[test]
fn a_run_after_one_that_was_cancelled_with_all_reads_in_flight_is_whole() {
    let mut engine = engine(None);
    let alone = whole_run(&mut engine, &[1, 2, 3], 20);
    engine.reset();
    engine.start(vec![4, 5, 6], options(100), 0.0).expect("a good prompt");
    while engine.session.in_flight() < DEPTH {
        next(&mut engine).expect("a working device").expect("more tokens");
    }
    engine.stop.set(true);
    assert_eq!(next(&mut engine), Ok(None));
    engine.finish().expect("a run");
    assert_eq!(engine.session.in_flight(), DEPTH);
    assert_eq!(whole_run(&mut engine, &[1, 2, 3], 20), alone);
    assert_eq!(alone.len(), 20);
}

#[test]
fn a_token_that_never_comes_ends_the_run_with_an_error() {
    let mut engine = engine(Some(Broken::Lost));
    engine.start(vec![1, 2, 3], options(5), 0.0).expect("a good prompt");
    assert_eq!(next(&mut engine).expect_err("no token").code(), ErrorCode::DeviceLost);
    assert_eq!(next(&mut engine), Ok(None), "the run is over");
}

#[test]
fn logits_that_are_all_nan_are_the_files_fault_on_either_device() {
    let mut gpu = engine(Some(Broken::NaN));
    gpu.start(vec![1, 2, 3], options(5), 0.0).expect("a good prompt");
    let found = next(&mut gpu).expect_err("no number");
    let tokenizer = Tokenizer::from_metadata(&header(&read()).metadata).expect("a vocabulary");
    let mut cpu = Engine::new(CpuSession::new(model_with_nan_norm()), tokenizer);
    cpu.start(vec![1, 2, 3], options(5), 0.0).expect("a good prompt");
    assert_eq!(next(&mut cpu), Err(found.clone()));
    assert_eq!(found.code(), ErrorCode::BadFile);
}
