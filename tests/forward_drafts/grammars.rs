//! Drafts of texts under grammars: each text is the one without drafts.

use webgguf::Result;
use webgguf::runtime::{Constraint, Drafting};

use super::*;

/// What a grammar refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refuses {
    Nothing,
    /// Token 9 at each seventh place; what follows each eleventh is forced.
    Some,
    /// All but a fifth of the ids, another one at each place.
    Most,
    /// Nothing, but ten tokens are forced at the beginning and after each third one.
    NothingAndForcesMany,
}

/// A grammar over a vocabulary.
#[derive(Clone)]
struct Rule {
    vocab: u32,
    refuses: Refuses,
    text: Vec<u32>,
}

impl Rule {
    fn allows(&self, id: u32) -> bool {
        let place = self.text.len() as u32;
        match self.refuses {
            Refuses::Nothing | Refuses::NothingAndForcesMany => true,
            Refuses::Some => place % 7 != 3 || id != 9,
            Refuses::Most => id % 5 == place % 5,
        }
    }
}

impl Constraint for Rule {
    fn mask(&mut self) -> Result<Vec<u32>> {
        let mut mask = vec![0; self.vocab.div_ceil(32) as usize];
        (0..self.vocab).filter(|&id| self.allows(id)).for_each(|id| mask[id as usize / 32] |= 1 << (id % 32));
        Ok(mask)
    }

    fn commit(&mut self, id: u32) -> Result<bool> {
        let is_allowed = self.allows(id);
        self.text.extend(Some(id).filter(|_| is_allowed));
        Ok(is_allowed)
    }

    fn commit_forced(&mut self) -> Result<Vec<u32>> {
        let forced = match self.refuses {
            Refuses::Some if self.text.len() % 11 == 10 => vec![5, 12, 5],
            Refuses::NothingAndForcesMany if self.text.len().is_multiple_of(13) => (20..30).collect(),
            _ => Vec::new(),
        };
        self.text.extend(&forced);
        Ok(forced)
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

/// A request: its prompt, its options, and what its grammar refuses, if it has one.
#[derive(Clone)]
pub(super) struct Request(pub Vec<u32>, pub GenerateOptions, pub Option<Refuses>);

impl Request {
    /// Runs it. Each look at the clock takes `ms` milliseconds: the longer, the fewer tokens are drawn ahead of masks.
    async fn run(&self, engine: &mut Engine, drafting: Drafting, ms: f64) -> Outcome {
        let Self(prompt, options, refuses) = self;
        engine.reset();
        engine.start(prompt.clone(), GenerateOptions { drafting, ..options.clone() }, 0.0).expect("a good prompt");
        if let Some(refuses) = *refuses {
            let vocab = engine.session.config().vocab as u32;
            let rule: Box<dyn Constraint> = Box::new(Rule { vocab, refuses, text: Vec::new() });
            engine.constrain(Box::pin(async move { Ok(rule) }));
        }
        let now = Cell::new(0.0);
        let clock = || now.replace(now.get() + ms);
        while engine.next(clock).await.expect("a working device").is_some() {}
        engine.finish().expect("a run")
    }

    /// Compares the text with drafts to that without; gives how many drafts were right and how many wrong.
    pub(super) async fn compare(&self, name: &str, engine: &mut Engine, drafting: Drafting) -> [usize; 2] {
        let without = self.run(engine, Drafting::Off, 0.0).await;
        let mut counts = [0; 2];
        for ms in [0.0, 30.0] {
            let with = self.run(engine, drafting, ms).await;
            counts = [with.accepted_drafts, with.rejected_drafts];
            let name = format!("{name}, {:?}, {ms} ms", self.2);
            console_log!("{name}: {counts:?} drafts were right and wrong, of {} tokens", with.ids.len());
            assert_eq!((with.ids, with.reason), (without.ids.clone(), without.reason), "{name}: {counts:?}");
        }
        counts
    }
}

/// One request for each way to choose tokens, and at least one for each grammar: `npm test` runs these, and
/// `npm test -- --all` all twelve.
const FEW: [usize; 4] = [0, 5, 10, 7];

/// Each of the ways to choose tokens, under each grammar.
fn requests(vocab: usize, tokens: usize) -> Vec<(&'static str, Request)> {
    let prompt = ids(20, vocab).repeat(2);
    let of = |refuses| {
        let request =
            |(how, sampling)| (how, Request(prompt.clone(), few_tokens(sampling, &[5, 9], tokens), Some(refuses)));
        sampled().map(request)
    };
    [Refuses::Nothing, Refuses::Some, Refuses::Most].into_iter().flat_map(of).collect()
}

/// Checks that drafts were of use where a grammar lets them be, and soon off where it does not.
fn check(name: &str, refuses: Option<Refuses>, [right, wrong]: [usize; 2]) {
    match refuses {
        Some(Refuses::Most) => assert!(right + wrong <= 64, "{name}: {wrong} drafts were wrong"),
        _ => assert!(right > 0, "{name}: the test says nothing"),
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_grammar_changes_nothing_about_drafts_from_the_text() {
    from_the_text(FEW).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn no_grammar_changes_anything_about_drafts_from_the_text() {
    from_the_text(0..12).await;
}

/// Runs some of the requests.
async fn from_the_text(chosen: impl IntoIterator<Item = usize>) {
    let [first, _] = both(FILES[0]).await;
    let mut engine = with_drafts(&first, FILES[0], Room::one(CONTEXT)).await;
    let all = requests(engine.session.config().vocab, 60);
    for (how, request) in chosen.into_iter().map(|at| all[at].clone()) {
        let counts = request.compare(how, &mut engine, Drafting::Prompt).await;
        check(how, request.2, counts);
    }
}

/// Rings, and caches that grow.
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn a_grammar_changes_nothing_about_drafts_in_other_caches() {
    for (file, room, length) in
        [(FILES[1], Room::one(1024), 700), (FILES[0], Room { allocated: 48, ..Room::one(CONTEXT) }, 30)]
    {
        let [first, _] = both_with(file, room.context, |caps| caps).await;
        let mut engine = with_drafts(&first, file, room).await;
        let prompt = ids(length, engine.session.config().vocab);
        for (how, Request(_, options, refuses)) in requests(engine.session.config().vocab, 60) {
            Request(prompt.clone(), options, refuses).compare(how, &mut engine, Drafting::Prompt).await;
        }
    }
}

/// A model that drafts for itself is right wherever the grammar refuses nothing.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_grammar_changes_nothing_about_drafts_of_a_model() {
    of_a_model(FEW[1..].iter().copied()).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn no_grammar_changes_anything_about_drafts_of_a_model() {
    of_a_model(4..12).await;
}

/// Runs plain requests, and some with biases under grammars that refuse something.
async fn of_a_model(chosen: impl IntoIterator<Item = usize>) {
    let [first, _] = both(FILES[0]).await;
    let mut engine = with_draft_model(&first, FILES[0], Room::one(CONTEXT)).await;
    let vocab = engine.session.config().vocab;
    let plain = GenerateOptions { ignore_eos: true, ..options(40, SamplingOptions::default()) };
    for refuses in [Refuses::Nothing, Refuses::Some] {
        let request = Request(ids(30, vocab), plain.clone(), Some(refuses));
        let counts = request.compare("greedy", &mut engine, Drafting::Model).await;
        check("greedy", Some(refuses), counts);
    }
    let all = requests(vocab, 40);
    for (how, request) in chosen.into_iter().map(|at| all[at].clone()) {
        request.compare(how, &mut engine, Drafting::Model).await;
    }
}

/// Recurrent states go back to where the pass began of which the grammar refused a token, and read what it kept again.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn recurrent_states_go_back_to_a_token_that_a_grammar_refused() {
    for (at, chosen) in [(0, [0, 5]), (1, [4, 11]), (5, [0, 5])] {
        of_recurrent(RECURRENT[at], &chosen).await;
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn recurrent_states_go_back_under_every_grammar() {
    for at in [0, 1, 5] {
        of_recurrent(RECURRENT[at], &[0, 4, 5, 11]).await;
    }
}

/// Runs some of the requests with a model of recurrent states.
async fn of_recurrent((name, file): (&str, &[u8]), chosen: &[usize]) {
    let [first, _] = both(file).await;
    let mut engine = with_drafts(&first, file, Room::one(CONTEXT)).await;
    let all = requests(engine.session.config().vocab, 60);
    for (how, request) in chosen.iter().map(|&at| all[at].clone()) {
        let name = format!("{name}, {how}");
        let [right, wrong] = request.compare(&name, &mut engine, Drafting::Prompt).await;
        match request.2 {
            Some(Refuses::Nothing) => assert!(right > 0, "{name}: the test says nothing"),
            Some(Refuses::Most) => assert!(right + wrong <= 64, "{name}: {wrong} drafts were wrong"),
            _ => {}
        }
    }
}

/// The same where a smaller model without such states drafts.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_model_drafts_for_recurrent_states_under_a_grammar() {
    let (name, file) = RECURRENT[2];
    let [first, _] = both(file).await;
    let room = Room::one(CONTEXT);
    let mut engine = with_drafts(&first, file, room).await;
    let draft = include_bytes!("../fixtures/models/qwen2-q8_0.gguf").as_slice();
    let AnySession::Gpu(lane) = &first.session else { panic!("not on the GPU") };
    let device = lane.model().device().clone();
    let session = on_gpu(device.clone(), device.caps.clone(), draft, CONTEXT).await;
    engine.use_draft(engine_of(AnySession::of_gpu(session), draft)).expect("a model of the same vocabulary");
    let all = requests(engine.session.config().vocab, 40);
    for (how, request) in [0, 4, 5].map(|at| all[at].clone()) {
        let counts = request.compare(&format!("{name}, {how}"), &mut engine, Drafting::Model).await;
        assert!(counts != [0, 0], "{how}: the test says nothing");
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_under_grammars_have_drafts() {
    in_lanes(FILES[0]).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_with_recurrent_states_have_drafts_under_grammars() {
    in_lanes(RECURRENT[0].1).await;
}

/// Lanes with grammars and without, which share the rows of passes with drafts.
async fn in_lanes(file: &[u8]) {
    let [first, _] = both(file).await;
    let mut lanes = vec![with_drafts(&first, file, Room::one(CONTEXT).for_requests(4)).await];
    for _ in 1..4 {
        let lane = lanes[0].another(false).await.expect("a lane");
        lanes.push(lane);
    }
    let all = requests(first.session.config().vocab, 50);
    let mut some: Vec<Request> = [1, 2, 11, 4].map(|at| all[at].1.clone()).into();
    some[0].2 = None;
    for (request, tokens) in some.iter_mut().zip([50, 70, 40, 60]) {
        request.1.max_tokens = Some(tokens);
    }
    let mut expected = Vec::new();
    for request in &some {
        expected.push(request.run(&mut lanes[0], Drafting::Off, 0.0).await.ids);
    }
    for ms in [0.0, 30.0] {
        let runs = lanes.iter_mut().zip(&some).map(|(lane, request)| request.run(lane, Drafting::Prompt, ms));
        let found = together(runs).await;
        let right: Vec<usize> = found.iter().map(|outcome| outcome.accepted_drafts).collect();
        console_log!("{right:?} drafts were right");
        assert_eq!(found.into_iter().map(|outcome| outcome.ids).collect::<Vec<_>>(), expected);
        assert!(right[0] > 0 && right[1] > 0, "{right:?}: the test says nothing");
        lanes.rotate_left(1);
    }
}

/// In lanes the last token that is read becomes the row of the next pass. Where a grammar forces others after it, that
/// pass never comes.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_lane_under_a_grammar_writes_what_a_session_alone_writes() {
    for (name, file) in [("llama", FILES[0]), RECURRENT[0], RECURRENT[5]] {
        let [first, _] = both(file).await;
        let mut alone = with_drafts(&first, file, Room::one(CONTEXT)).await;
        let mut lanes = vec![with_drafts(&first, file, Room::one(CONTEXT).for_requests(2)).await];
        lanes.push(lanes[0].another(false).await.expect("a lane"));
        let vocab = first.session.config().vocab;
        let plain = GenerateOptions { ignore_eos: true, ..options(60, SamplingOptions::default()) };
        // Later requests find all kernels compiled.
        for (length, refuses) in
            [30, 12].into_iter().flat_map(|of| [(of, Refuses::Some), (of, Refuses::NothingAndForcesMany)])
        {
            let request = Request(ids(length, vocab), plain.clone(), Some(refuses));
            let expected = request.run(&mut alone, Drafting::Off, 0.0).await;
            for (number, lane) in lanes.iter_mut().enumerate() {
                let found = request.run(lane, Drafting::Off, 30.0 * number as f64).await;
                assert_eq!(found.ids, expected.ids, "{name}, lane {number}, a prompt of {length} tokens, {refuses:?}");
            }
        }
    }
}

/// A text that repeats itself takes fewer passes.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_text_under_a_grammar_that_repeats_itself_takes_fewer_passes() {
    let [first, _] = both(FILES[0]).await;
    let mut engine = with_drafts(&first, FILES[0], Room::one(CONTEXT)).await;
    let vocab = engine.session.config().vocab;
    for ms in [0.0, 30.0] {
        let biased = GenerateOptions { biases: vec![(7, 90.0)], ..options(100, SamplingOptions::default()) };
        let request = Request(ids(9, vocab), biased, Some(Refuses::Nothing));
        let (without, expected) = passes_of(request.run(&mut engine, Drafting::Off, ms)).await;
        let (with, found) = passes_of(request.run(&mut engine, Drafting::Prompt, ms)).await;
        assert_eq!(found.ids, expected.ids);
        console_log!("{with} passes with drafts, {without} without");
        assert!(with < 0.4 * without, "{with} passes with drafts, {without} without");
    }
}
