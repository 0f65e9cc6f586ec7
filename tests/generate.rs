//! The loop from prompt to text on the host: over a session that keeps tokens in flight as the GPU does, and over the
//! CPU.

mod common {
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod yielding;
}

use std::cell::Cell;
use std::collections::VecDeque;

use common::yielding::count_yields;
use webgguf::cpu::{CacheFormat, CpuModel};
use webgguf::gguf::{Gguf, HeaderReader};
use webgguf::kernels::kv_type::KvType;
use webgguf::model::ModelConfig;
use webgguf::model::{Role, WeightSpec, match_tensors};
use webgguf::runtime::{
    AnySession, Constraint, CpuSession, Engine, GenerateOptions, NO_TOKEN, Piece, RunIds, Session, Token,
};
use webgguf::sampler::{SamplingOptions, is_allowed};
use webgguf::tokenizer::Tokenizer;
use webgguf::{Error, ErrorCode, Result};

/// Tokens that the session below keeps in flight, at most.
const DEPTH: usize = 16;

/// Tokens come back one after the other, as those of the GPU do; each is made of all before it.
struct InFlight {
    config: ModelConfig,
    cache: Vec<u32>,
    flying: VecDeque<u32>,
    /// Submitted last.
    last: u32,
    /// The ids that may be chosen.
    mask: Option<Vec<u32>>,
    /// What was read without choosing, and how often that was to be.
    waves: Vec<usize>,
    is_read: bool,
    draws_ahead: bool,
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
        self.last = best(&self.cache, self.config.vocab as u32, |id| {
            self.mask.as_ref().is_none_or(|mask| is_allowed(mask, id))
        });
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

    fn configure(&mut self, _: &SamplingOptions, _: &RunIds, _: &[u32]) {
        self.mask = None;
    }

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

    async fn read(&mut self, ids: &[u32], position: usize, _: &Cell<bool>) -> Result<usize> {
        self.flying.clear();
        self.cache.truncate(position);
        assert_eq!(self.cache.len(), position, "the cache holds what comes before");
        self.cache.extend(ids);
        self.waves.push(ids.len());
        self.is_read = true;
        Ok(ids.len())
    }

    fn resume(&mut self, _: &[u32], _: bool) {}

    fn allow(&mut self, mask: Option<&[u32]>) {
        self.mask = mask.map(<[u32]>::to_vec);
    }

    fn draws_ahead(&self) -> bool {
        self.draws_ahead
    }

    fn rounds(&self) -> bool {
        false
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        None
    }

    fn step(&mut self) -> Result<bool> {
        if self.flying.len() == DEPTH || self.broken == Some(Broken::Lost) {
            return Ok(false);
        }
        if !std::mem::take(&mut self.is_read) {
            self.cache.push(self.last);
        }
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

    async fn evaluate(
        &mut self,
        _: &[u32],
        _: usize,
        _: &Cell<bool>,
        _: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize> {
        unreachable!("nothing is evaluated here")
    }
}

/// A number for a text.
fn mixed(text: &[u32]) -> u32 {
    text.iter().fold(17_u32, |mixed, id| mixed.wrapping_mul(31).wrapping_add(*id) ^ (mixed >> 15))
}

/// The id with the highest score after a text among those that may be, as greedy choice takes it.
fn best(text: &[u32], vocab: u32, may_be: impl Fn(u32) -> bool) -> u32 {
    let text = mixed(text);
    let score = |&id: &u32| mixed(&[text, id, 7]).wrapping_mul(0x9e37_79b9) >> 4;
    (0..vocab).filter(|&id| may_be(id)).max_by_key(score).expect("an id")
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
    model(|spec| spec.role == Role::OutputNorm)
}

/// The model of the file on the CPU, with NaN for some weights.
fn model(is_nan: impl Fn(&WeightSpec) -> bool) -> CpuModel {
    let file = read();
    let gguf = header(&file);
    let config = webgguf::model::config(&gguf).expect("good settings");
    let mut builder = CpuModel::builder(config.clone());
    for (index, spec) in match_tensors(&config, &gguf.tensors).expect("all tensors") {
        let tensor = &gguf.tensors[index];
        let mut bytes = file[tensor.offset as usize..tensor.end() as usize].to_vec();
        if is_nan(&spec) {
            bytes = f32::NAN.to_le_bytes().repeat(bytes.len() / 4);
        }
        builder.put(&spec, tensor.ty, bytes).expect("bytes that fit");
    }
    builder.build(128, CacheFormat::F16).expect("a whole model")
}

fn engine(broken: Option<Broken>) -> Engine<InFlight> {
    let gguf = header(&read());
    let config = webgguf::model::config(&gguf).expect("a known model");
    let session = InFlight {
        config,
        cache: Vec::new(),
        flying: VecDeque::new(),
        last: 0,
        mask: None,
        waves: Vec::new(),
        is_read: false,
        draws_ahead: true,
        broken,
    };
    Engine::new(session, Tokenizer::from_metadata(&gguf.metadata).expect("a vocabulary"))
}

fn options(max_tokens: usize) -> GenerateOptions {
    GenerateOptions { max_tokens: Some(max_tokens), ignore_eos: true, ..Default::default() }
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
    assert_eq!(next(&mut engine).expect_err("no token still").code(), ErrorCode::DeviceLost);
    engine.finish().expect("the run, which another session could have gone on with");
}

fn engine_on_cpu() -> Engine {
    let tokenizer = Tokenizer::from_metadata(&header(&read()).metadata).expect("a vocabulary");
    Engine::new(AnySession::Cpu(Box::new(CpuSession::new(model(|_| false)))), tokenizer)
}

fn normed_states(engine: &mut Engine, ids: &[u32]) -> Option<Vec<f32>> {
    count_yields(engine.normed_states(ids)).0.expect("a good text")
}

#[test]
fn the_cpu_keeps_hidden_states_while_a_text_is_written_once_somebody_asked_for_some() {
    let mut engine = engine_on_cpu();
    let prompt: Vec<u32> = (1..40).collect();
    normed_states(&mut engine, &prompt).expect("nothing stops it");
    let written = whole_run(&mut engine, &prompt, 30);
    let text = [&prompt, &written[..29]].concat();
    // What reads again is stopped.
    engine.stop.set(true);
    let kept = normed_states(&mut engine, &text).expect("states that are there");
    let again = normed_states(&mut engine_on_cpu(), &text).expect("nothing stops it");
    assert_eq!(kept.len(), again.len());
    for (at, (kept, again)) in kept.iter().zip(&again).enumerate() {
        assert!((kept - again).abs() < 1e-3, "value {at}: {kept}, read again {again}");
    }
    let first = normed_states(&mut engine, &text[..50]).expect("the first of them");
    assert_eq!(first.len(), again.len() / text.len() * 50);
    // Another text that begins alike has to be read, and then the states of the first one are gone.
    let other = [&text[..30], &[7; 12]].concat();
    assert_eq!(normed_states(&mut engine, &other), None);
    engine.stop.set(false);
    let read = normed_states(&mut engine, &other).expect("nothing stops it");
    assert_eq!(read, normed_states(&mut engine_on_cpu(), &other).expect("nothing stops it"));
    engine.stop.set(true);
    assert_eq!(normed_states(&mut engine, &text), None);
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

/// A grammar made of numbers: what it allows and forces depends on the text so far.
#[derive(Clone)]
struct Numbers {
    text: Vec<u32>,
    vocab: u32,
    /// One in this many texts has a mask of few ids ...
    strict: u32,
    /// ... and one in this many forces tokens.
    forces: u32,
    /// Tokens after which the grammar ends.
    length: usize,
}

impl Numbers {
    fn may_be(&self, id: u32) -> bool {
        let text = mixed(&self.text);
        if text.is_multiple_of(self.strict) { (id ^ text).is_multiple_of(50) } else { id % 97 != text % 97 }
    }
}

impl Constraint for Numbers {
    fn mask(&mut self) -> Result<Vec<u32>> {
        let mut mask = vec![0; self.vocab.div_ceil(32) as usize];
        (0..self.vocab).filter(|&id| self.may_be(id)).for_each(|id| mask[id as usize / 32] |= 1 << (id % 32));
        Ok(mask)
    }

    fn commit(&mut self, id: u32) -> Result<bool> {
        let may_be = self.may_be(id) && !self.is_stopped();
        if may_be {
            self.text.push(id);
        }
        Ok(may_be)
    }

    fn commit_forced(&mut self) -> Result<Vec<u32>> {
        let text = mixed(&self.text);
        let count = if text.is_multiple_of(self.forces) && !self.is_stopped() { 1 + text as usize / 8 % 7 } else { 0 };
        let forced: Vec<u32> = (0..count as u32).map(|i| (text / 3 + 11 * i) % self.vocab).collect();
        self.text.extend(&forced);
        Ok(forced)
    }

    fn is_stopped(&self) -> bool {
        self.text.len() >= self.length
    }
}

/// A grammar whose masks stay for some tokens, then lose ids and at last become others: as of white space, digits or
/// strings. Few of the ids that a model draws among all are allowed.
#[derive(Clone)]
struct Ranges {
    vocab: u32,
    taken: u32,
    length: u32,
    /// Most ids of a range; it loses an id every `stays` tokens, and begins anew after eight times as many.
    ids: u32,
    stays: u32,
}

impl Ranges {
    fn may_be(&self, id: u32) -> bool {
        let (range, at) = (self.taken / (8 * self.stays), self.taken % (8 * self.stays));
        (id % self.vocab).wrapping_sub(20 * range) < self.ids - at / self.stays
    }
}

impl Constraint for Ranges {
    fn mask(&mut self) -> Result<Vec<u32>> {
        let mut mask = vec![0; self.vocab.div_ceil(32) as usize];
        (0..self.vocab).filter(|&id| self.may_be(id)).for_each(|id| mask[id as usize / 32] |= 1 << (id % 32));
        Ok(mask)
    }

    fn commit(&mut self, id: u32) -> Result<bool> {
        let may_be = self.may_be(id) && !self.is_stopped();
        self.taken += u32::from(may_be);
        Ok(may_be)
    }

    fn commit_forced(&mut self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }

    fn is_stopped(&self) -> bool {
        self.taken >= self.length
    }
}

/// Token by token, each under its mask.
fn by_hand(prompt: &[u32], vocab: u32, mut grammar: impl Constraint) -> Vec<u32> {
    let mut ids = Vec::new();
    loop {
        ids.extend(grammar.commit_forced().expect("tokens"));
        if grammar.is_stopped() {
            return ids;
        }
        let text: Vec<u32> = prompt.iter().chain(&ids).copied().collect();
        let mask = grammar.mask().expect("a mask");
        let id = best(&text, vocab, |id| is_allowed(&mask, id));
        assert!(grammar.commit(id).expect("a token"));
        ids.push(id);
    }
}

fn constrained_run(
    engine: &mut Engine<InFlight>,
    prompt: &[u32],
    grammar: &(impl Constraint + Clone + 'static),
    most: usize,
) -> Vec<u32> {
    run_under(engine, prompt, grammar, options(most))
}

fn run_under(
    engine: &mut Engine<InFlight>,
    prompt: &[u32],
    grammar: &(impl Constraint + Clone + 'static),
    options: GenerateOptions,
) -> Vec<u32> {
    engine.start(prompt.to_vec(), options, 0.0).expect("a good prompt");
    let grammar = grammar.clone();
    engine.constrain(Box::pin(async move { Ok(Box::new(grammar) as Box<dyn Constraint>) }));
    let mut ids = Vec::new();
    while let Some(piece) = next(engine).expect("a working device") {
        ids.extend(piece);
    }
    assert_eq!(engine.finish().expect("a run").ids, ids);
    ids
}

#[test]
fn tokens_drawn_ahead_of_their_masks_are_those_that_the_masks_leave() {
    for (strict, forces) in [(1000, 1000), (2, 1000), (1000, 3), (4, 5), (1, 2)] {
        for draws_ahead in [true, false] {
            for first in 0..12 {
                let mut engine = engine(None);
                engine.session.draws_ahead = draws_ahead;
                let vocab = engine.session.config.vocab as u32;
                let grammar = Numbers { text: vec![first], vocab, strict, forces, length: 40 };
                let expected = by_hand(&[first, 2, 3], vocab, grammar.clone());
                assert_eq!(constrained_run(&mut engine, &[first, 2, 3], &grammar, 100), expected);
                let with_logprobs = GenerateOptions { logprobs: Some(0), ..options(100) };
                assert_eq!(run_under(&mut engine, &[first, 2, 3], &grammar, with_logprobs), expected);
                let cut = constrained_run(&mut engine, &[first, 2, 3], &grammar, 17);
                assert_eq!(cut, expected[..17], "strict {strict}, forces {forces}, ahead {draws_ahead}");
            }
        }
    }
}

#[test]
fn tokens_drawn_under_the_last_mask_are_those_that_their_own_masks_leave() {
    for (ids, stays) in [(20, 1), (20, 3), (60, 2), (9, 1), (40, 9)] {
        for first in 0..8 {
            let mut engine = engine(None);
            let vocab = engine.session.config.vocab as u32;
            let grammar = Ranges { vocab, taken: 0, length: 100, ids, stays };
            let expected = by_hand(&[first, 2, 3], vocab, grammar.clone());
            let found = constrained_run(&mut engine, &[first, 2, 3], &grammar, 120);
            assert_eq!(found, expected, "{ids} ids that stay for {stays} tokens");
        }
    }
    let mut engine = engine(None);
    let vocab = engine.session.config.vocab as u32;
    let same = Ranges { vocab, taken: 0, length: 100, ids: 20, stays: 100 };
    constrained_run(&mut engine, &[1, 2, 3], &same, 120);
    assert!(engine.session.waves.len() < 30, "{} waves of 100 tokens", engine.session.waves.len());
}

#[test]
fn forced_tokens_are_read_together_and_a_lax_grammar_is_not_waited_for() {
    let mut engine = engine(None);
    let vocab = engine.session.config.vocab as u32;
    let lax = Numbers { text: Vec::new(), vocab, strict: 1 << 30, forces: 1 << 30, length: 90 };
    constrained_run(&mut engine, &[1, 2, 3], &lax, 100);
    assert!(engine.session.waves.len() < 12, "{:?}", engine.session.waves);
    let forcing = Numbers { forces: 1, length: 60, ..lax };
    engine.session.waves.clear();
    let ids = constrained_run(&mut engine, &[1, 2, 3], &forcing, 100);
    let read: usize = engine.session.waves.iter().sum();
    assert!(engine.session.waves.len() < 22, "{:?}", engine.session.waves);
    assert!(read <= ids.len(), "{read} of {}", ids.len());
}

#[test]
fn a_session_starts_from_what_another_has_read_and_goes_on_alone() {
    let tokenizer = || Tokenizer::from_metadata(&header(&read()).metadata).expect("a vocabulary");
    let mut first = Engine::new(AnySession::Cpu(Box::new(CpuSession::new(model(|_| false)))), tokenizer());
    let prompt: Vec<u32> = (1..60).collect();
    let answer = whole_run(&mut first, &prompt, 6);
    let longer = [&prompt[..], &answer, &[7, 8]].concat();
    let mut empty = count_yields(first.another(false)).0.expect("memory for a session");
    let expected = whole_run(&mut empty, &longer, 6);
    // A fork goes on from there, and neither sees what the other reads.
    let mut fork = count_yields(first.another(true)).0.expect("memory for a session");
    assert_eq!(whole_run(&mut first, &[9, 9, 9], 6).len(), 6);
    let cached = fork.start(longer.clone(), options(6), 0.0).expect("a good prompt");
    assert_eq!(cached, longer.len() - 3, "the last token of the answer was never read");
    assert!(count_yields(fork.another(true)).0.is_err(), "a run is on");
    while next(&mut fork).expect("a working device").is_some() {}
    assert_eq!(fork.finish().expect("a run").ids, expected);
    // A session that has read nothing takes over what is worth it.
    let mut late = count_yields(first.another(false)).0.expect("memory for a session");
    assert_eq!(late.gains_from(&first, &longer, &[]), None, "the first has read something else since");
    assert_eq!(late.gains_from(&fork, &longer, &[]), Some(longer.len()));
    count_yields(late.take_over(&fork)).0.expect("memory for a session");
    assert_eq!(late.start(longer.clone(), options(6), 0.0).expect("a good prompt"), longer.len() - 1);
    while next(&mut late).expect("a working device").is_some() {}
    assert_eq!(late.finish().expect("a run").ids, expected);
}

/// A session whose device is lost at one of its calls, and that gives tokens as soon as they are there.
struct Lossy<S> {
    session: S,
    /// Calls before that; none where it stays.
    left: Option<usize>,
    rounds: bool,
}

impl<S: Session> Lossy<S> {
    fn call(&mut self) -> Result<()> {
        let lost = Error::new(ErrorCode::DeviceLost, "the GPU device was lost");
        match &mut self.left {
            Some(0) => Err(lost),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl<S: Session> Session for Lossy<S> {
    fn config(&self) -> &ModelConfig {
        self.session.config()
    }

    fn context_length(&self) -> usize {
        self.session.context_length()
    }

    fn kv_type(&self) -> KvType {
        self.session.kv_type()
    }

    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]) {
        self.session.configure(options, ids, prompt);
    }

    fn rewind(&mut self, position: usize) -> usize {
        self.session.rewind(position)
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        self.call()?;
        assert!(!self.rounds || ids.len() <= 3, "an answer is read as it was written");
        self.session.feed(ids, position, stop).await
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        self.call()?;
        assert!(!self.rounds || position != 0 || ids.len() <= 3, "an answer is read as it was written");
        self.session.read(ids, position, stop).await
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        self.session.resume(answer, recount);
    }

    fn allow(&mut self, mask: Option<&[u32]>) {
        self.session.allow(mask);
    }

    fn draws_ahead(&self) -> bool {
        self.session.draws_ahead()
    }

    fn rounds(&self) -> bool {
        self.rounds
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        self.session.take_logits()
    }

    fn step(&mut self) -> Result<bool> {
        self.call()?;
        self.session.step()
    }

    fn in_flight(&self) -> usize {
        self.session.in_flight()
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        self.call()?;
        self.session.next().await
    }

    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        self.call()?;
        if self.session.in_flight() == 0 {
            return Ok(None);
        }
        count_yields(self.session.next()).0
    }

    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize> {
        self.session.evaluate(ids, position, stop, each).await
    }
}

/// Pieces put together, the outcome's own ids and text, and what a run that starts from its cache writes.
type Whole = (Piece, Vec<u32>, String, Vec<u32>);

/// A run whose device is lost after `left` calls, and that goes on with another.
fn interrupted<S: Session>(
    make: impl Fn() -> S,
    begin: impl Fn(&mut Engine<Lossy<S>>),
    left: Option<usize>,
    rounds: bool,
) -> (Whole, bool) {
    let lossy = |left| Lossy { session: make(), left, rounds };
    let tokenizer = Tokenizer::from_metadata(&header(&read()).metadata).expect("a vocabulary");
    let mut engine = Engine::new(lossy(left), tokenizer);
    begin(&mut engine);
    let (mut all, mut was_lost) = (Piece::default(), false);
    loop {
        match count_yields(engine.next(|| 0.0)).0 {
            Ok(None) => break,
            Ok(Some(piece)) => {
                all.ids.extend(piece.ids);
                all.tokens.extend(piece.tokens);
                all.text.push_str(&piece.text);
            }
            Err(error) => {
                assert_eq!((error.code(), was_lost), (ErrorCode::DeviceLost, false), "{error}");
                was_lost = true;
                engine.recover(lossy(None), 0.0).expect("the same model");
            }
        }
    }
    let outcome = engine.finish().expect("a run");
    (engine.session.left, engine.session.rounds) = (None, false);
    let longer = [&[1, 2, 3], &outcome.ids[..], &[9]].concat();
    ((all, outcome.ids, outcome.text, whole_run(&mut engine, &longer, 3)), was_lost)
}

/// Wherever the device is lost, the run is the same.
fn same_wherever_lost<S: Session>(make: impl Fn() -> S, begin: impl Fn(&mut Engine<Lossy<S>>)) {
    let (expected, _) = interrupted(&make, &begin, None, false);
    let (all, ids, text, _) = &expected;
    assert_eq!((&all.ids, &all.text), (ids, text));
    assert!(ids.len() > 10, "{ids:?}");
    for left in 0.. {
        let (found, was_lost) = interrupted(&make, &begin, Some(left), left % 3 > 0);
        assert_eq!(found, expected, "lost after {left} calls");
        if !was_lost {
            assert!(left > 20, "{left} calls");
            break;
        }
    }
}

#[test]
fn a_run_goes_on_after_the_device_was_lost() {
    let make = || engine(None).session;
    same_wherever_lost(make, |engine| {
        engine.start(vec![1, 2, 3], options(40), 0.0).expect("a good prompt");
    });
}

#[test]
fn a_run_with_a_grammar_goes_on_after_the_device_was_lost() {
    for (strict, forces, draws_ahead) in [(1000, 1000, true), (2, 3, true), (4, 5, false), (1, 2, true)] {
        let make = || InFlight { draws_ahead, ..engine(None).session };
        same_wherever_lost(make, |engine| {
            engine.start(vec![1, 2, 3], options(40), 0.0).expect("a good prompt");
            let vocab = engine.session.config().vocab as u32;
            let grammar = Numbers { text: vec![5], vocab, strict, forces, length: 30 };
            engine.constrain(Box::pin(async move { Ok(Box::new(grammar) as Box<dyn Constraint>) }));
        });
    }
}

#[test]
fn samples_penalties_and_probabilities_go_on_after_the_device_was_lost() {
    let make = || CpuSession::new(model(|_| false));
    let sampling = SamplingOptions {
        temperature: 1.5,
        repetition_penalty: 1.3,
        frequency_penalty: 0.5,
        seed: 7,
        ..SamplingOptions::default()
    };
    let options = GenerateOptions { sampling, biases: vec![(9, 2.0)], logprobs: Some(2), ..options(12) };
    same_wherever_lost(make, |engine| {
        engine.start(vec![1, 2, 3], options.clone(), 0.0).expect("a good prompt");
    });
}

#[test]
fn another_model_does_not_take_the_place_of_one() {
    let mut engine = engine(None);
    let mut other = InFlight { ..self::engine(None).session };
    other.config.layers += 1;
    assert_eq!(engine.recover(other, 0.0).expect_err("another model").code(), ErrorCode::IntegrityFailed);
}
