//! Passes with drafts: texts are those that are written token by token, in fewer passes.

mod blocks;
mod drafters;
mod grammars;
mod lanes;
mod model_lanes;
mod mtp;

use webgguf::runtime::Drafting;

use super::*;

/// An engine whose passes may have drafts, over a session of its own of the model of `engine`.
async fn with_drafts(engine: &Engine, file: &[u8], room: Room) -> Engine {
    in_room(engine, file, room.with_drafts(true)).await
}

/// The same with and without drafts, each from an empty cache.
async fn both_ways(engine: &mut Engine, prompt: &[u32], options: &GenerateOptions) -> [Outcome; 2] {
    let mut outcomes = Vec::new();
    for drafting in [Drafting::Off, Drafting::Prompt] {
        engine.reset();
        let options = GenerateOptions { drafting, ..options.clone() };
        outcomes.push(outcome(engine, prompt, &options, None).await);
    }
    outcomes.try_into().expect("two outcomes")
}

/// Text that goes on with few tokens, in whatever order the model has them.
fn few_tokens(sampling: SamplingOptions, ids: &[u32], tokens: usize) -> GenerateOptions {
    GenerateOptions { biases: ids.iter().map(|&id| (id, 60.0)).collect(), ..options(tokens, sampling) }
}

fn sampled() -> [(&'static str, SamplingOptions); 4] {
    let greedy = SamplingOptions::default();
    let warm = SamplingOptions { temperature: 0.5, seed: 11, ..greedy };
    let filtered = SamplingOptions { top_k: 3, top_p: 0.9, seed: 5, ..warm };
    let penalised = SamplingOptions { frequency_penalty: 0.05, presence_penalty: 0.2, ..warm };
    [("greedy", greedy), ("warm", warm), ("filtered", filtered), ("penalised", penalised)]
}

/// Compares a text with drafts to that without; gives how many of its tokens were drafted.
async fn compare_drafts(name: &str, engine: &mut Engine, prompt: &[u32], options: &GenerateOptions) -> usize {
    let [without, with] = both_ways(engine, prompt, options).await;
    assert_eq!(with.ids, without.ids, "{name}: {} drafts were right", with.accepted_drafts);
    assert_eq!((with.text, with.reason), (without.text, without.reason), "{name}");
    assert_eq!((without.accepted_drafts, without.rejected_drafts), (0, 0), "{name}");
    console_log!(
        "{name}: {} of {} tokens were drafted, {} drafts were wrong",
        with.accepted_drafts,
        with.ids.len(),
        with.rejected_drafts
    );
    with.accepted_drafts
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn texts_with_drafts_are_those_without() {
    let latent = include_bytes!("../fixtures/models/deepseek2-f16.gguf").as_slice();
    for (name, file, ways) in [("llama", FILES[0], 4), ("gemma3", FILES[1], 1), ("deepseek2", latent, 1)] {
        let [first, _] = both(file).await;
        let mut engine = with_drafts(&first, file, Room::one(CONTEXT)).await;
        let vocab = engine.session.config().vocab;
        let prompt = ids(20, vocab).repeat(2);
        for (how, sampling) in sampled().into_iter().rev().take(ways) {
            let options = few_tokens(sampling, &[5, 9], 40);
            let drafted = compare_drafts(&format!("{name}, {how}"), &mut engine, &prompt, &options).await;
            assert!(drafted > 0, "{name}, {how}: the test says nothing");
        }
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_text_that_repeats_itself_takes_few_passes() {
    let [first, _] = both(FILES[0]).await;
    let mut engine = with_drafts(&first, FILES[0], Room::one(CONTEXT)).await;
    let prompt = ids(9, engine.session.config().vocab);
    // One token again and again.
    let options = GenerateOptions { biases: vec![(7, 90.0)], ..options(100, SamplingOptions::default()) };
    let drafted = compare_drafts("one token", &mut engine, &prompt, &options).await;
    assert!(drafted > 75, "{drafted} of 100 tokens were drafted");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn drafts_end_with_a_text() {
    let file = FILES[0];
    let [first, _] = both(file).await;
    let mut engine = with_drafts(&first, file, Room::one(CONTEXT)).await;
    let prompt = ids(20, engine.session.config().vocab).repeat(2);
    let long = few_tokens(SamplingOptions { temperature: 0.8, seed: 3, ..Default::default() }, &[5, 9], 60);
    let text = both_ways(&mut engine, &prompt, &long).await[0].text.clone();
    // A string that stands in the middle for the first time.
    let letters: Vec<char> = text.chars().collect();
    let after = letters.len() / 2;
    let stop = (1..letters.len() - after).map(|count| letters[after..after + count].iter().collect::<String>());
    let stop = stop.into_iter().find(|stop| text.find(stop) > Some(text.len() / 3)).expect("a string of its own");
    let options = GenerateOptions { stop: vec![stop], ..long.clone() };
    compare_drafts("a stop string", &mut engine, &prompt, &options).await;
    // The context is full: of the prompt, and some tokens after it.
    let mut short = with_drafts(&first, file, Room::one(96)).await;
    let whole = GenerateOptions { max_tokens: None, ..long.clone() };
    let drafted = compare_drafts("a full context", &mut short, &prompt, &whole).await;
    assert!(drafted > 0, "the test says nothing");
    // Room is made on the way.
    let mut growing = with_drafts(&first, file, Room { allocated: 48, ..Room::one(CONTEXT) }).await;
    compare_drafts("caches that grow", &mut growing, &prompt, &long).await;
}

/// The tokens of a session until one of `ends`.
async fn until(engine: &mut Engine, prompt: &[u32], drafting: Drafting, ends: &[u32]) -> Vec<u32> {
    engine.reset();
    let ids = RunIds { ends, biases: &[(5, 60.0), (9, 60.2), (12, 57.5)], drafting, ..RunIds::default() };
    let warm = SamplingOptions { temperature: 0.8, seed: 8, ..Default::default() };
    engine.session.configure(&warm, &ids, prompt);
    engine.session.feed(prompt, 0, &Cell::new(false)).await.expect("a working device");
    let mut found = Vec::new();
    while found.len() < 60 {
        assert!(engine.session.step().expect("a working device"));
        let Some(token) = engine.session.next().await.expect("a working device") else { break };
        found.push(token.id);
        if token.end {
            break;
        }
    }
    found
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn an_end_within_a_draft_ends_the_text() {
    let [first, _] = both(FILES[0]).await;
    let mut engine = with_drafts(&first, FILES[0], Room::one(CONTEXT)).await;
    let prompt = ids(20, engine.session.config().vocab).repeat(2);
    for end in [9, 12] {
        // The prompt foretells it.
        let prompt = [&[5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, end][..], &prompt].concat();
        let without = until(&mut engine, &prompt, Drafting::Off, &[end]).await;
        assert_eq!(until(&mut engine, &prompt, Drafting::Prompt, &[end]).await, without);
        assert_eq!(without.last(), Some(&end));
    }
    let greedy = until(&mut engine, &prompt, Drafting::Off, &[]).await;
    assert_eq!(until(&mut engine, &prompt, Drafting::Prompt, &[]).await, greedy);
}

/// After a text with drafts the caches hold what they would have held without, whatever the wrong ones wrote.
async fn caches_hold(name: &str, file: &[u8], room: Room, length: usize) {
    let [first, _] = both_with(file, room.context, |caps| caps).await;
    let mut engine = with_drafts(&first, file, room).await;
    let prompt = ids(length, engine.session.config().vocab);
    let warm = SamplingOptions { temperature: 0.8, seed: 4, ..Default::default() };
    let drafted = GenerateOptions { drafting: Drafting::Prompt, ..few_tokens(warm, &[5, 9], 60) };
    let answer = outcome(&mut engine, &prompt, &drafted, None).await;
    assert!(answer.accepted_drafts > 0 && answer.rejected_drafts > 0, "{name}: the test says nothing");
    let mut fork = engine.another(true).await.expect("room for a second cache");
    let saved = save(&mut engine).await;
    let mut restored = restore(&engine, &saved).await.expect("the same model");
    let longer = [&prompt[..], &answer.ids, &[3, 4]].concat();
    let few = options(12, SamplingOptions::default());
    let mut fresh = engine.another(false).await.expect("room for a third cache");
    let expected = generate(&mut fresh, &longer, &few).await.0;
    for (what, engine) in [("itself", &mut engine), ("a fork", &mut fork), ("a saved session", &mut restored)] {
        let (found, cached, _) = generate(engine, &longer, &few).await;
        assert_eq!((&found, cached + 4 >= longer.len()), (&expected, true), "{name}: {what}, {cached} cached");
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn a_text_goes_on_after_drafts() {
    caches_hold("llama", FILES[0], Room::one(CONTEXT), 60).await;
    caches_hold("gemma3", FILES[1], Room::one(1024), 700).await;
    caches_hold("qwen35", FILES[2], Room::one(CONTEXT), 60).await;
    caches_hold("graniteswitch", SWITCH, Room::one(CONTEXT), 60).await;
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn without_memory_for_drafts_a_text_goes_on_without() {
    const ROOM: usize = 160;
    let file = FILES[0];
    let [mut whole, _] = both(file).await;
    let mut growing = with_drafts(&whole, file, Room { allocated: ROOM, ..Room::one(CONTEXT) }).await;
    let prompt = ids(20, whole.session.config().vocab).repeat(2);
    let [few, many] = [60, 200].map(|tokens| few_tokens(SamplingOptions::default(), &[5, 9], tokens));
    let drafted = compare_drafts("before", &mut growing, &prompt, &few).await;
    assert!(drafted > 0, "the test says nothing");
    let expected = generate(&mut whole, &prompt, &many).await.0;

    growing.reset();
    // Once for a pass with a draft, once for one without, each with two lengths of the cache.
    out_of_memory(4);
    growing.start(prompt.clone(), GenerateOptions { drafting: Drafting::Prompt, ..many }, 0.0).expect("a good prompt");
    let (found, error) = until_it_fails(&mut growing).await;
    out_of_memory(0);
    assert_eq!(error.code(), ErrorCode::OutOfMemory);
    assert_eq!((found.len(), &found[..]), (ROOM - prompt.len() + 1, &expected[..ROOM - prompt.len() + 1]));
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_prediction_foretells_a_text() {
    let [first, _] = both(FILES[0]).await;
    let mut engine = with_drafts(&first, FILES[0], Room::one(CONTEXT)).await;
    let vocab = engine.session.config().vocab;
    let prompt = ids(30, vocab);
    let plain = options(60, SamplingOptions { temperature: 2.0, seed: 1, ..Default::default() });
    let [without, _] = both_ways(&mut engine, &prompt, &plain).await;
    let text = engine.tokenizer.decode(&without.ids, true);
    let same = engine.tokenizer.encode(&text, false, false) == without.ids;
    let predicted = GenerateOptions { prediction: text, ..plain };
    let drafted = compare_drafts("a prediction", &mut engine, &prompt, &predicted).await;
    assert!(!same || drafted > 30, "{drafted} of 60 tokens were drafted");
}

/// Requests that begin while one has drafts, in other lanes of its session.
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn lanes_have_drafts_while_they_are_alone() {
    let file = FILES[0];
    let [first, _] = both(file).await;
    let room = Room::one(CONTEXT).for_requests(2);
    let mut one = with_drafts(&first, file, room).await;
    let mut other = one.another(false).await.expect("a lane");
    let prompt = ids(20, one.session.config().vocab).repeat(2);
    let warm = SamplingOptions { temperature: 0.8, seed: 6, ..Default::default() };
    let long = GenerateOptions { drafting: Drafting::Prompt, ..few_tokens(warm, &[5, 9], 120) };
    let few = GenerateOptions { drafting: Drafting::Prompt, ..few_tokens(warm, &[5, 9], 30) };
    let expected = [(&prompt[..], &long), (&prompt[3..], &few)];
    let mut alone = Vec::new();
    for (prompt, options) in expected {
        alone.push(both_ways(&mut one, prompt, options).await[0].ids.clone());
    }
    one.reset();
    one.start(prompt.clone(), long.clone(), now()).expect("a good prompt");
    let mut seen = 0;
    while seen < 60 {
        seen += one.next(now).await.expect("a working device").expect("more tokens").ids.len();
    }
    assert_eq!(outcome(&mut other, &prompt[3..], &few, None).await.ids, alone[1], "beside another");
    while one.next(now).await.expect("a working device").is_some() {}
    let outcome = one.finish().expect("a run");
    assert_eq!((outcome.ids, outcome.accepted_drafts > 0), (alone[0].clone(), true));
}

/// Models with recurrent states, which go back to the last row that was right.
const RECURRENT: [(&str, &[u8]); 6] = [
    ("qwen35", FILES[2]),
    ("lfm2", include_bytes!("../fixtures/models/lfm2-q8_0.gguf")),
    ("mamba", include_bytes!("../fixtures/models/mamba-f16.gguf")),
    ("granitehybrid", include_bytes!("../fixtures/models/granitehybrid-q8_0.gguf")),
    ("rwkv6", include_bytes!("../fixtures/models/rwkv6-q4_1.gguf")),
    ("rwkv7", include_bytes!("../fixtures/models/rwkv7-q4_0.gguf")),
];

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn recurrent_states_go_back_to_the_last_row_that_was_right() {
    for (name, file) in RECURRENT {
        let [first, _] = both(file).await;
        let mut engine = with_drafts(&first, file, Room::one(CONTEXT)).await;
        let prompt = ids(20, engine.session.config().vocab).repeat(2);
        let warm = SamplingOptions { temperature: 0.9, seed: 11, ..SamplingOptions::default() };
        let options = few_tokens(warm, &[5, 9, 12], 60);
        let [without, with] = both_ways(&mut engine, &prompt, &options).await;
        let (right, wrong) = (with.accepted_drafts, with.rejected_drafts);
        console_log!("{name}: {right} drafts were right, {wrong} wrong");
        assert_eq!(with.ids, without.ids, "{name}: {right} drafts were right, {wrong} wrong");
        assert!(right > 0 && wrong > 0, "{name}: the test says nothing");
    }
}

/// No drafts, and the text is the same.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn log_probabilities_have_no_drafts() {
    let prompt = ids(20, 64);
    let options = GenerateOptions { biases: vec![(7, 90.0)], ..options(40, SamplingOptions::default()) };
    let [first, _] = both(FILES[0]).await;
    let mut engine = with_drafts(&first, FILES[0], Room::one(CONTEXT)).await;
    let likely = GenerateOptions { logprobs: Some(1), ..options };
    assert_eq!(compare_drafts("log-probabilities", &mut engine, &prompt, &likely).await, 0);
}

/// An engine for which a session of the same model drafts; both with this room.
async fn with_draft_model(first: &Engine, file: &[u8], room: Room) -> Engine {
    let mut engine = with_drafts(first, file, room).await;
    let draft = in_room(first, file, room).await;
    engine.use_draft(draft).expect("the same model");
    engine
}

/// A model drafts for itself: all drafts are right, in caches that grow, in rings, and in the second of two lanes.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_model_that_drafts_for_itself_is_right() {
    let growing = Room { allocated: 48, ..Room::one(CONTEXT) };
    let two = Room::one(CONTEXT).for_requests(2);
    for (name, file, room, length, texts) in [
        ("caches that grow", FILES[0], growing, 30, 3),
        ("rings", FILES[1], Room::one(1024), 700, 1),
        ("two lanes", FILES[0], two, 30, 1),
    ] {
        let [first, _] = both_with(file, room.context, |caps| caps).await;
        let mut engine = with_draft_model(&first, file, room).await;
        if room.sequences > 1 {
            engine = engine.another(false).await.expect("a second lane");
        }
        let prompt = ids(length, engine.session.config().vocab);
        for (again, prompt) in [&prompt[..], &prompt[3..], &prompt].into_iter().take(texts).enumerate() {
            let [without, with] = [Drafting::Off, Drafting::Model].map(|drafting| GenerateOptions {
                drafting,
                ignore_eos: true,
                ..options(32, SamplingOptions::default())
            });
            let expected = outcome(&mut engine, prompt, &without, None).await;
            let found = outcome(&mut engine, prompt, &with, None).await;
            let (right, wrong) = (found.accepted_drafts, found.rejected_drafts);
            console_log!("{name}, text {again}: {right} drafts were right, {wrong} wrong");
            assert_eq!(found.ids, expected.ids, "{name}, text {again}");
            // A pass of eight rows may round a tie otherwise.
            assert!(right >= 20 && wrong <= 8, "{name}, text {again}: {right} drafts were right, {wrong} wrong");
        }
    }
}

/// Counts the calls of a method while `work` is done.
#[cfg(target_arch = "wasm32")]
async fn calls_of<T>((class, method): (&str, &str), work: impl Future<Output = T>) -> (f64, T) {
    let eval = |script: &str| js_sys::eval(script).expect("a script");
    eval(&format!(
        "globalThis.called = 0;
        globalThis.realCall = {class}.prototype.{method};
        {class}.prototype.{method} = function (...given) {{
            called++;
            return realCall.apply(this, given);
        }};"
    ));
    let done = work.await;
    let count = eval(&format!("{class}.prototype.{method} = realCall; called"));
    (count.as_f64().unwrap_or(f64::NAN), done)
}

/// Counts the dispatches that are recorded while `work` is done.
#[cfg(target_arch = "wasm32")]
async fn dispatches_of<T>(work: impl Future<Output = T>) -> (f64, T) {
    calls_of(("GPUComputePassEncoder", "dispatchWorkgroups"), work).await
}

/// Counts the decode passes while `work` is done: each is read back.
#[cfg(target_arch = "wasm32")]
async fn passes_of<T>(work: impl Future<Output = T>) -> (f64, T) {
    calls_of(("GPUBuffer", "mapAsync"), work).await
}

/// Reads texts of these lengths in passes of a few rows, and compares the logits after them to those after one pass.
#[cfg(target_arch = "wasm32")]
async fn short_texts(name: &str, file: &[u8], lengths: &[(usize, bool)]) {
    let [mut plain, _] = both(file).await;
    let vocab = plain.session.config().vocab;
    let mut engine = with_drafts(&plain, file, Room::one(CONTEXT)).await;
    let ready = GenerateOptions { drafting: Drafting::Prompt, ..options(1, SamplingOptions::default()) };
    outcome(&mut engine, &ids(40, vocab), &ready, None).await;
    for &(length, by_few) in lengths {
        engine.reset();
        plain.reset();
        // Nothing that the caches hold of a text before is of use to this one.
        let text = ids(400, vocab)[10 * length..][..length + 4].to_vec();
        let (few, found) = dispatches_of(logits_after_prompt(&mut engine, &text, length)).await;
        let (one, expected) = dispatches_of(logits_after_prompt(&mut plain, &text, length)).await;
        assert_eq!(few != one, by_few, "{name}, {length} tokens: {few} dispatches, {one} in one pass");
        for (found, expected) in found.chunks(vocab).zip(expected.chunks(vocab)) {
            let size = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
            let error = size(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / size(&mut expected.iter().copied());
            assert!(error < 2e-3, "{name}, {length} tokens: logits are off by {error:.2e}");
        }
    }
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn short_texts_are_read_in_passes_of_a_few_rows() {
    let lengths = [(2, true), (9, true), (10, true), (25, true), (26, false)];
    short_texts("llama", FILES[0], &lengths).await;
    short_texts("gemma3", FILES[1], &lengths[1..3]).await;
}
