//! Drafts of several requests in the passes of one session.

use webgguf::runtime::Drafting;

use super::*;

/// Prompts and options of four requests whose texts repeat few tokens, in four ways.
fn requests(vocab: usize, tokens: usize, sampling: [SamplingOptions; 4]) -> Vec<(Vec<u32>, GenerateOptions)> {
    let prompt = |at: usize| ids(20 + 7 * at, vocab)[at..].repeat(2);
    let texts: [&[u32]; 4] = [&[5, 9], &[7], &[12, 5], &[9, 14]];
    let request = |at: usize| (prompt(at), few_tokens(sampling[at], texts[at], tokens + 3 * at));
    (0..4).map(request).collect()
}

async fn lanes_of(engine: &Engine, file: &[u8], count: usize) -> Vec<Engine> {
    let mut all = vec![with_drafts(engine, file, Room::one(CONTEXT).for_requests(count)).await];
    for _ in 1..count {
        let lane = all[0].another(false).await.expect("a lane");
        all.push(lane);
    }
    all
}

/// All requests at once, with and without drafts.
async fn all_ways(lanes: &mut [Engine], requests: &[(Vec<u32>, GenerateOptions)], drafting: Drafting) -> Vec<Outcome> {
    let run = async |engine: &mut Engine, (prompt, options): &(Vec<u32>, GenerateOptions)| {
        engine.reset();
        outcome(engine, prompt, &GenerateOptions { drafting, ..options.clone() }, None).await
    };
    together(lanes.iter_mut().zip(requests).map(|(engine, request)| run(engine, request))).await
}

fn ids_of(outcomes: &[Outcome]) -> Vec<&[u32]> {
    outcomes.iter().map(|outcome| &outcome.ids[..]).collect()
}

/// Requests in lanes write with drafts what each writes alone without.
async fn lanes_have_drafts(name: &str, file: &[u8], tokens: usize) {
    let [first, _] = both(file).await;
    let vocab = first.session.config().vocab;
    let requests = requests(vocab, tokens, sampled().map(|(_, sampling)| sampling));
    let mut lanes = lanes_of(&first, file, 4).await;
    let mut expected = Vec::new();
    for request in &requests {
        expected.extend(all_ways(&mut lanes[..1], std::slice::from_ref(request), Drafting::Off).await);
    }
    for turn in 0..2 {
        let found = all_ways(&mut lanes, &requests, Drafting::Prompt).await;
        let right: Vec<usize> = found.iter().map(|outcome| outcome.accepted_drafts).collect();
        console_log!("{name}: {right:?} drafts were right");
        assert_eq!(ids_of(&found), ids_of(&expected), "{name}, turn {turn}");
        assert!(right.iter().all(|&count| count > 0), "{name}: {right:?} drafts were right: the test says nothing");
        lanes.rotate_left(1);
    }
    // Some with drafts and some without.
    let (some, others) = lanes.split_at_mut(2);
    let ways = [(some, &requests[..2], Drafting::Prompt), (others, &requests[2..], Drafting::Off)];
    let found = together(ways.map(async |(lanes, requests, drafting)| all_ways(lanes, requests, drafting).await)).await;
    assert_eq!(ids_of(&found.concat()), ids_of(&expected), "{name}: two of four have drafts");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_write_with_drafts_what_each_writes_alone() {
    lanes_have_drafts("llama", FILES[0], 30).await;
    lanes_have_drafts("qwen35", FILES[2], 30).await;
    lanes_have_drafts("graniteswitch", SWITCH, 30).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn other_lanes_write_with_drafts_what_each_writes_alone() {
    lanes_have_drafts("gemma3", FILES[1], 60).await;
    for (name, file) in &RECURRENT[1..] {
        lanes_have_drafts(name, file, 60).await;
    }
}

/// Four texts that repeat a token each, with and without drafts: how often the GPU was waited for.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn four_lanes_that_repeat_themselves_take_fewer_passes() {
    const TOKENS: usize = 64;
    let file = FILES[0];
    let [first, _] = both(file).await;
    let mut lanes = lanes_of(&first, file, 4).await;
    let vocab = first.session.config().vocab;
    let greedy = SamplingOptions::default();
    let request = |at: usize| {
        let biases = vec![(7 + at as u32, 90.0)];
        (ids(9 + at, vocab), GenerateOptions { biases, ..options(TOKENS, greedy) })
    };
    let requests: Vec<_> = (0..4).map(request).collect();
    let (without, expected) = passes_of(all_ways(&mut lanes, &requests, Drafting::Off)).await;
    let (with, found) = passes_of(all_ways(&mut lanes, &requests, Drafting::Prompt)).await;
    assert_eq!(ids_of(&found), ids_of(&expected));
    console_log!("{with} passes with drafts, {without} without");
    // Two rows for each text, of which both are right.
    assert!(with < 0.65 * without, "{with} passes with drafts, {without} without");
}
