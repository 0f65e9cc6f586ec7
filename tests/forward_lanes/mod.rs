//! Requests that share the passes of one session: each gets what it gets alone.

use webgguf::Result;
use webgguf::runtime::Constraint;

use super::*;

/// Engines of so many lanes of a new session of the model.
async fn lanes(engine: &Engine, file: &[u8], room: Room) -> Vec<Engine> {
    let AnySession::Gpu(session) = &engine.session else { panic!("not on the GPU") };
    let session = GpuSession::with_room(session.model().clone(), room).await.expect("room");
    let mut all = vec![engine_of(AnySession::of_gpu(session), file)];
    for _ in 1..room.sequences {
        let made = all[0].another(false).await.expect("a lane");
        all.push(made);
    }
    assert!(all[0].another(false).await.is_err(), "there are no more");
    all
}

/// A request: its prompt and options, and how many tokens the one before it has when it begins.
#[derive(Clone)]
struct Request {
    prompt: Vec<u32>,
    options: GenerateOptions,
    grammar: Option<Every>,
}

impl Request {
    fn new(prompt: &[u32], max_tokens: usize, sampling: SamplingOptions) -> Self {
        Self { prompt: prompt.to_vec(), options: options(max_tokens, sampling), grammar: None }
    }

    /// The tokens, the text, and of each token what it was chosen from.
    async fn run(&self, engine: &mut Engine) -> (Vec<u32>, String, Vec<f32>) {
        engine.start(self.prompt.clone(), self.options.clone(), now()).expect("a good prompt");
        if let Some(grammar) = self.grammar.clone() {
            let made: Box<dyn Constraint> = Box::new(grammar);
            engine.constrain(Box::pin(async move { Ok(made) }));
        }
        let mut logprobs = Vec::new();
        while let Some(piece) = engine.next(now).await.expect("a working device") {
            logprobs.extend(piece.tokens.iter().map(|token| token.logprob));
        }
        let outcome = engine.finish().expect("a run");
        (outcome.ids, outcome.text, logprobs)
    }
}

/// Allows ids of some remainder, another one at each token; the ids divisible by 3 are followed by two that are forced.
#[derive(Clone)]
struct Every {
    vocab: u32,
    text: Vec<u32>,
}

impl Constraint for Every {
    fn mask(&mut self) -> Result<Vec<u32>> {
        let mut mask = vec![0; self.vocab.div_ceil(32) as usize];
        let wanted = self.text.len() as u32 % 5;
        (0..self.vocab).filter(|id| id % 5 == wanted).for_each(|id| mask[id as usize / 32] |= 1 << (id % 32));
        Ok(mask)
    }

    fn commit(&mut self, id: u32) -> Result<bool> {
        let fits = id % 5 == self.text.len() as u32 % 5;
        self.text.extend(Some(id).filter(|_| fits));
        Ok(fits)
    }

    fn commit_forced(&mut self) -> Result<Vec<u32>> {
        let forced = if self.text.last().is_some_and(|id| id % 3 == 0) { vec![7, 11] } else { Vec::new() };
        self.text.extend(&forced);
        Ok(forced)
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

/// Prompts of odd lengths and options of all kinds.
fn requests(vocab: usize) -> Vec<Request> {
    let prompt = |length: usize| ids(length + 9, vocab)[9..].to_vec();
    let warm = SamplingOptions { temperature: 0.9, top_k: 40, top_p: 0.95, seed: 11, ..Default::default() };
    let penalised = SamplingOptions {
        temperature: 0.7,
        repetition_penalty: 1.3,
        frequency_penalty: 0.4,
        presence_penalty: 0.2,
        seed: 5,
        ..warm
    };
    let greedy = SamplingOptions::default();
    let mut biased = Request::new(&prompt(70), 21, penalised);
    biased.options.biases = vec![(3, 4.0), (8, -6.0)];
    vec![
        Request::new(&prompt(5), 24, greedy),
        Request::new(&prompt(41), 9, warm),
        biased,
        Request::new(&prompt(1), 17, SamplingOptions { seed: 12, ..warm }),
    ]
}

async fn alone(engine: &mut Engine, requests: &[Request]) -> Vec<(Vec<u32>, String, Vec<f32>)> {
    let mut all = Vec::new();
    for request in requests {
        engine.reset();
        all.push(request.run(engine).await);
    }
    all
}

async fn all_at_once(engines: &mut [Engine], requests: &[Request]) -> Vec<(Vec<u32>, String, Vec<f32>)> {
    together(engines.iter_mut().zip(requests).map(|(engine, request)| request.run(engine))).await
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_write_what_each_writes_alone() {
    let mixture = include_bytes!("../fixtures/models/qwen3moe-q8_0.gguf").as_slice();
    let latent = include_bytes!("../fixtures/models/deepseek2-f16.gguf").as_slice();
    for file in [FILES[0], FILES[1], mixture, latent, SWITCH] {
        let [mut engine, _] = both(file).await;
        let requests = requests(engine.session.config().vocab);
        let expected = alone(&mut engine, &requests).await;
        let mut engines = lanes(&engine, file, Room::one(CONTEXT).for_requests(4)).await;
        assert_eq!(all_at_once(&mut engines, &requests).await, expected);
        // In other lanes, whose caches hold other texts; two of them alike.
        engines.reverse();
        let others = [&requests[2..], &requests[..1], &requests[..1]].concat();
        let found = all_at_once(&mut engines, &others).await;
        assert_eq!(found, [&expected[2..], &expected[..1], &expected[..1]].concat());
        // Alone in its lane.
        assert_eq!(requests[1].run(&mut engines[3]).await, expected[1]);
        if file == FILES[0] {
            let mut engines = lanes(&engine, file, Room::one(CONTEXT).for_requests(8)).await;
            let twice = [&requests[..], &requests[..]].concat();
            assert_eq!(all_at_once(&mut engines, &twice).await, [&expected[..], &expected[..]].concat());
        }
    }
}

/// A file with recurrent states in lanes: each request gets what it gets alone, and goes on where it ended.
async fn lanes_with_states(name: &str, file: &[u8]) {
    let [mut engine, _] = both(file).await;
    let vocab = engine.session.config().vocab;
    let mut requests = requests(vocab);
    requests[1].options.max_tokens = Some(40);
    requests[3].prompt = ids(150, vocab);
    requests[3].grammar = Some(Every { vocab: vocab as u32, text: Vec::new() });
    let expected = alone(&mut engine, &requests).await;
    let mut engines = lanes(&engine, file, Room::one(CONTEXT).for_requests(4)).await;
    assert_eq!(all_at_once(&mut engines, &requests).await, expected, "{name}");
    engines.rotate_left(1);
    assert_eq!(all_at_once(&mut engines, &requests).await, expected, "{name}: in other lanes");
    let longer = |request: &Request, answer: &[u32]| {
        let prompt = [&request.prompt[..], answer, &[3, 4]].concat();
        Request { prompt, options: options(8, SamplingOptions::default()), grammar: None }
    };
    let after: Vec<_> = requests.iter().zip(&expected).map(|(request, (ids, ..))| longer(request, ids)).collect();
    let expected = alone(&mut engine, &after).await;
    // All at once, so that one reads its prompt while the others write.
    let found = together(engines.iter_mut().zip(&after).map(async |(engine, request)| {
        engine.start(request.prompt.clone(), request.options.clone(), now()).expect("a good prompt");
        while engine.next(now).await.expect("a working device").is_some() {}
        let Outcome { ids, cached_tokens, .. } = engine.finish().expect("a run");
        (ids, cached_tokens)
    }));
    for ((found, cached), (request, expected)) in found.await.into_iter().zip(after.iter().zip(expected)) {
        assert_eq!(found, expected.0, "{name}: after {} tokens", request.prompt.len());
        // The last of the prompt is a row of decode.
        let least = request.prompt.len().saturating_sub(64 + 10);
        assert!(cached >= least, "{name}: {cached} of {} tokens were cached", request.prompt.len());
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn lanes_have_recurrent_states_of_their_own() {
    lanes_with_states("lfm2", include_bytes!("../fixtures/models/lfm2-q8_0.gguf")).await;
    lanes_with_states("qwen3next", include_bytes!("../fixtures/models/qwen3next-q8_0.gguf")).await;
    lanes_with_states("falcon-h1", include_bytes!("../fixtures/models/falcon-h1-q8_0.gguf")).await;
}

/// Allows all ids, and counts the masks that it is asked for.
struct All {
    vocab: u32,
    masks: Rc<Cell<usize>>,
}

impl Constraint for All {
    fn mask(&mut self) -> Result<Vec<u32>> {
        self.masks.set(self.masks.get() + 1);
        Ok(vec![u32::MAX; self.vocab.div_ceil(32) as usize])
    }

    fn commit(&mut self, _: u32) -> Result<bool> {
        Ok(true)
    }

    fn commit_forced(&mut self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_draw_ahead_of_masks() {
    const TOKENS: usize = 40;
    let file = FILES[0];
    let [mut engine, _] = both(file).await;
    let vocab = engine.session.config().vocab;
    let prompts: Vec<_> = [5, 30].map(|length| ids(length, vocab)).into();
    let free = options(TOKENS, SamplingOptions::default());
    let mut expected = Vec::new();
    for prompt in &prompts {
        expected.push(generate(&mut engine, prompt, &free).await.0);
    }
    let mut engines = lanes(&engine, file, Room::one(CONTEXT).for_requests(2)).await;
    let found = together(engines.iter_mut().zip(&prompts).map(async |(engine, prompt)| {
        let masks = Rc::new(Cell::new(0));
        engine.start(prompt.clone(), free.clone(), 0.0).expect("a good prompt");
        let grammar: Box<dyn Constraint> = Box::new(All { vocab: vocab as u32, masks: masks.clone() });
        engine.constrain(Box::pin(async move { Ok(grammar) }));
        // Passes take no time by this clock: as many go ahead as may.
        while engine.next(|| 0.0).await.expect("a working device").is_some() {}
        (engine.finish().expect("a run").ids, masks.get())
    }));
    for ((ids, masks), expected) in found.await.iter().zip(&expected) {
        assert_eq!(ids, expected);
        assert!(2 * masks < TOKENS, "{masks} masks for {TOKENS} tokens");
    }
}

/// What one lane has read goes on in others: as a copy, and saved.
async fn lanes_are_copied_and_saved(name: &str, file: &[u8], room: Room, length: usize) {
    let [mut alone, _] = both_with(file, room.context, |caps| caps).await;
    let vocab = alone.session.config().vocab;
    let few = options(8, SamplingOptions::default());
    let prompt = ids(length, vocab);
    let answer = generate(&mut alone, &prompt, &few).await.0;
    let longer = [&prompt[..], &answer, &[3, 4]].concat();
    let expected = generate(&mut alone, &longer, &few).await.0;
    let mut engines = lanes(&alone, file, room.for_requests(3)).await;
    let [first, second, third] = engines.as_mut_slice() else { panic!("three lanes") };
    assert_eq!(generate(first, &prompt, &few).await.0, answer);
    // Another text goes on meanwhile.
    let other = Request { prompt: vec![9, 8, 7, 6], options: options(30, SamplingOptions::default()), grammar: None };
    let moving = Box::pin(async {
        assert_eq!(second.gains_from(first, &longer, &[]), Some(first.common_prefix(&longer)));
        second.take_over(first).await.expect("room");
        let found = generate(second, &longer, &few).await;
        assert!(found.1 + 64 >= length, "{name}: {} tokens were cached", found.1);
        assert_eq!(found.0, expected, "{name}: a copy");
        let nothing = first.save_head("notes".into(), Some(&[5; 300])).await.expect("an idle engine");
        assert!(nothing.len() < 80, "{name}: of another text");
        let saved = save(first).await;
        restore_in(second, &saved).await.expect("the same model");
        let found = generate(second, &longer, &few).await;
        assert!(found.1 + 64 >= length, "{name}: {} tokens were saved", found.1);
        assert_eq!(found.0, expected, "{name}: saved");
        assert_eq!(generate(first, &longer, &few).await.0, expected, "{name}: its origin");
        let mut changed = saved;
        let last = changed.len() - 1;
        changed[last] ^= 1;
        let error = restore_in(first, &changed).await.expect_err("changed bytes");
        assert_eq!(error.code(), ErrorCode::IntegrityFailed, "{name}: {error}");
        assert_eq!(generate(first, &longer, &few).await.1, 0, "{name}: nothing of it is left");
        Default::default()
    });
    type Found = (Vec<u32>, String, Vec<f32>);
    let both = [Box::pin(other.run(third)) as Pin<Box<dyn Future<Output = Found>>>, moving];
    let found = together(both).await;
    let expected = generate(&mut alone, &other.prompt, &other.options).await.0;
    assert_eq!(found[0].0, expected, "{name}: the other text");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn what_a_lane_has_read_goes_on_elsewhere() {
    lanes_are_copied_and_saved("llama", FILES[0], Room { allocated: 64, ..Room::one(CONTEXT) }, 100).await;
    let gemma = include_bytes!("../fixtures/models/gemma3-q5_1.gguf");
    lanes_are_copied_and_saved("gemma3", gemma, Room::one(1024), 700).await;
    lanes_are_copied_and_saved("qwen35", FILES[2], Room::one(CONTEXT), 100).await;
    lanes_are_copied_and_saved("graniteswitch", SWITCH, Room { allocated: 64, ..Room::one(CONTEXT) }, 100).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn lanes_wait_for_rows_on_the_host() {
    let [mut whole, _] = both(PER_LAYER).await;
    let mut requests = requests(whole.session.config().vocab);
    requests[3].grammar = Some(Every { vocab: whole.session.config().vocab as u32, text: Vec::new() });
    let expected = alone(&mut whole, &requests).await;
    for slots in [16, 300] {
        let (few, watch) = few_slots(slots).await;
        let mut engines = lanes(&few, PER_LAYER, Room::one(CONTEXT).for_requests(4)).await;
        assert_eq!(all_at_once(&mut engines, &requests).await, expected, "{slots} slots");
        let rows = watch.rows();
        assert!(rows > 8, "{rows} rows were read: the test says nothing");
        if slots < 300 {
            continue;
        }
        watch.broken.set(true);
        let [first, second, ..] = engines.as_mut_slice() else { panic!("four lanes") };
        let failing = Box::pin(async {
            second.start((300..335).collect(), requests[0].options.clone(), now()).expect("a good prompt");
            assert_eq!(second.next(now).await.expect_err("the table is gone").code(), ErrorCode::DownloadFailed);
            Default::default()
        });
        let found = together([Box::pin(requests[0].run(first)) as Pin<Box<dyn Future<Output = _>>>, failing]).await;
        assert_eq!(found[0], expected[0], "whose rows are all there");
        watch.broken.set(false);
        assert_eq!(requests[0].run(second).await, expected[0], "the lane goes on");
    }
}

#[cfg(target_arch = "wasm32")]
/// Continuous batching: a prompt is read in chunks between the tokens of the others, none of which waits for more than
/// two chunks. For browsers alone: a piece of a native device may have all of an answer.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_long_prompt_delays_no_token_by_more_than_two_chunks() {
    const PROMPT: usize = 1_100;
    let file = FILES[0];
    let [engine, _] = both(file).await;
    let vocab = engine.session.config().vocab;
    let mut engines = lanes(&engine, file, Room::one(PROMPT + 100).for_requests(4)).await;
    // What happened, in order: a lane's number for each of its tokens, 9 for a chunk of the prompt.
    let events = Rc::new(RefCell::new(Vec::new()));
    let of_reader = events.clone();
    let (reader, writers) = engines.split_last_mut().expect("four lanes");
    let runs = writers.iter_mut().enumerate().map(|(number, engine)| {
        let events = events.clone();
        Box::pin(async move {
            let prompt = ids(5 + number, vocab);
            engine.start(prompt, options(40, SamplingOptions::default()), now()).expect("a good prompt");
            while let Some(piece) = engine.next(now).await.expect("a working device") {
                piece.ids.iter().for_each(|_| events.borrow_mut().push(number));
            }
            engine.finish().expect("a run").ids.len()
        }) as Pin<Box<dyn Future<Output = usize>>>
    });
    let reads = Box::pin(async move {
        // The writers are in the middle of their texts by then.
        while of_reader.borrow().len() < 6 {
            yield_now().await;
        }
        reader.start(ids(PROMPT, vocab), options(1, SamplingOptions::default()), now()).expect("a good prompt");
        reader.listen(Rc::new(move |_| of_reader.borrow_mut().push(9)));
        while reader.next(now).await.expect("a working device").is_some() {}
        reader.finish().expect("a run").ids.len()
    }) as Pin<Box<dyn Future<Output = usize>>>;
    let counts = together(runs.chain([reads])).await;
    assert_eq!(counts, [40, 40, 40, 1]);
    let events = events.borrow();
    assert!(events.iter().filter(|&&event| event == 9).count() >= PROMPT / CHUNK, "{events:?}");
    for number in 0..3 {
        let of_lane = events.iter().filter(|&&event| event == number || event == 9).collect::<Vec<_>>();
        let waits = of_lane.split(|&&event| event == number).map(<[_]>::len);
        assert!(waits.max().is_some_and(|chunks| (1..=2).contains(&chunks)), "lane {number}: {events:?}");
    }
}

/// A run that is left after some tokens: what came until then, and what the cache then holds of it.
async fn leave_after(engine: &mut Engine, request: &Request, tokens: usize) -> Vec<u32> {
    engine.start(request.prompt.clone(), request.options.clone(), now()).expect("a good prompt");
    let mut found = Vec::new();
    while found.len() < tokens {
        found.extend(engine.next(now).await.expect("a working device").expect("more tokens").ids);
    }
    engine.stop.set(true);
    assert_eq!(engine.next(now).await.expect("a working device"), None);
    assert_eq!(engine.finish().expect("a run").reason, FinishReason::Abort);
    found
}

/// For browsers alone: a piece of a native device may have all of an answer, so that nobody leaves in the middle.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn lanes_join_and_leave_while_others_go_on() {
    let file = FILES[0];
    let [mut engine, _] = both(file).await;
    let vocab = engine.session.config().vocab;
    let mut requests = requests(vocab);
    requests[0].options.max_tokens = Some(40);
    requests[3].prompt = ids(333, vocab);
    let expected = alone(&mut engine, &requests).await;
    let mut engines = lanes(&engine, file, Room { allocated: 32, ..Room::one(CONTEXT).for_requests(3) }).await;
    let [first, second, third] = engines.as_mut_slice() else { panic!("three lanes") };
    // The third joins when the second has left in the middle, and its prompt takes the caches more room.
    let [a, b, c, d] = requests.as_slice() else { panic!("four requests") };
    let then = Box::pin(async {
        let found = leave_after(second, b, 3).await;
        assert_eq!(found, expected[1].0[..found.len()]);
        let (after, long) = (c.run(second), d.run(third));
        let outcomes = together([Box::pin(after) as Pin<Box<dyn Future<Output = _>>>, Box::pin(long)]).await;
        assert_eq!(outcomes, expected[2..]);
        expected[0].clone()
    });
    let both = [Box::pin(a.run(first)) as Pin<Box<dyn Future<Output = _>>>, then];
    for found in together(both).await {
        assert_eq!(found, expected[0]);
    }
    // What a lane has read is not read again.
    let (_, cached, _) = generate(first, &[&a.prompt[..], &expected[0].0[..20]].concat(), &a.options).await;
    assert_eq!(cached, a.prompt.len() + 19);
    engines[1].start(b.prompt.clone(), b.options.clone(), now()).expect("a good prompt");
    let held = engines[1].finish().expect("a run");
    assert_eq!((held.cached_tokens, held.ids.len()), (b.prompt.len() - 1, 0), "the text since begins alike");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_have_their_own_grammars_and_log_probabilities() {
    let file = FILES[0];
    let [mut engine, _] = both(file).await;
    let vocab = engine.session.config().vocab;
    let mut requests = requests(vocab);
    requests[0].options.logprobs = Some(2);
    requests[1].grammar = Some(Every { vocab: vocab as u32, text: Vec::new() });
    requests[3].grammar = requests[1].grammar.clone();
    requests[3].options.logprobs = Some(0);
    let expected = alone(&mut engine, &requests).await;
    assert!(expected[1].0.iter().any(|id| id % 3 == 0), "nothing was forced");
    let mut engines = lanes(&engine, file, Room::one(CONTEXT).for_requests(4)).await;
    assert!(engines.iter().all(|lane| lane.session.draws_ahead()));
    for (found, expected) in all_at_once(&mut engines, &requests).await.iter().zip(&expected) {
        assert_eq!((&found.0, &found.1), (&expected.0, &expected.1));
        assert_eq!(found.2.len(), expected.2.len());
        for (found, expected) in found.2.iter().zip(&expected.2) {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
    }
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn memory_that_is_missing_ends_one_lane() {
    let file = FILES[0];
    let [mut engine, _] = both(file).await;
    let vocab = engine.session.config().vocab;
    let requests = requests(vocab);
    let expected = alone(&mut engine, &requests[..1]).await;
    let mut engines = lanes(&engine, file, Room { allocated: 32, ..Room::one(CONTEXT).for_requests(2) }).await;
    let [first, second] = engines.as_mut_slice() else { panic!("two lanes") };
    out_of_memory(1000);
    let failing = Box::pin(async {
        second.start(ids(20, vocab), options(40, SamplingOptions::default()), now()).expect("a good prompt");
        let mut found = 0;
        loop {
            match second.next(now).await {
                Ok(piece) => found += piece.expect("not the end").ids.len(),
                Err(error) => break assert_eq!((found, error.code()), (13, ErrorCode::OutOfMemory)),
            }
        }
        Default::default()
    });
    let found = together([Box::pin(requests[0].run(first)) as Pin<Box<dyn Future<Output = _>>>, failing]).await;
    out_of_memory(0);
    assert_eq!(found[0], expected[0], "which fits");
    assert_eq!(requests[0].run(second).await, expected[0], "the lane goes on");
}
