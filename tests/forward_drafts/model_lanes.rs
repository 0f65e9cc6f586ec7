//! Drafters of several requests in the passes of one session: each request writes what it writes alone without drafts.

use webgguf::runtime::Drafting;

use super::*;

/// A prompt and its options.
pub(super) type Request = (Vec<u32>, GenerateOptions);

fn of_request((prompt, options): &Request, drafting: Drafting) -> Request {
    (prompt.clone(), GenerateOptions { drafting, ..options.clone() })
}

/// Requests that choose tokens in four ways, and end at different times.
pub(super) fn requests(vocab: usize, tokens: usize) -> Vec<Request> {
    let of = |(at, (_, sampling)): (usize, (_, SamplingOptions))| {
        let prompt = ids(90, vocab)[9 * at..][..20 + 5 * at].to_vec();
        (prompt, GenerateOptions { ignore_eos: true, ..options(tokens + 7 * at, sampling) })
    };
    sampled().into_iter().enumerate().map(of).collect()
}

/// The ids of a request in an empty lane.
async fn written(engine: &mut Engine, (prompt, options): &Request) -> Outcome {
    engine.reset();
    outcome(engine, prompt, options, None).await
}

/// What each request writes alone without drafts.
pub(super) async fn alone(engine: &mut Engine, requests: &[Request]) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for request in requests {
        all.push(written(engine, &of_request(request, Drafting::Off)).await.ids);
    }
    all
}

/// All requests at once, each in a lane.
pub(super) async fn at_once(lanes: &mut [Engine], requests: &[Request], drafting: &[Drafting]) -> Vec<Outcome> {
    let with_drafts = requests.iter().zip(drafting.iter().cycle());
    let runs = lanes
        .iter_mut()
        .zip(with_drafts)
        .map(async |(engine, (request, &drafting))| written(engine, &of_request(request, drafting)).await);
    together(runs).await
}

pub(super) fn ids_of(outcomes: &[Outcome]) -> Vec<&[u32]> {
    outcomes.iter().map(|outcome| &outcome.ids[..]).collect()
}

/// How many drafts were right and wrong.
pub(super) fn counts(outcomes: &[Outcome]) -> [Vec<usize>; 2] {
    let right = outcomes.iter().map(|outcome| outcome.accepted_drafts).collect();
    [right, outcomes.iter().map(|outcome| outcome.rejected_drafts).collect()]
}

/// A session of four lanes for which `draft` drafts.
async fn lanes_of(first: &Engine, file: &[u8], (draft, theirs): (&Engine, &[u8]), room: Room) -> Vec<Engine> {
    let mut lane = with_drafts(first, file, room).await;
    lane.use_draft(in_room(draft, theirs, room).await).expect("a model of the same vocabulary");
    let mut lanes = vec![lane];
    for _ in 1..room.sequences {
        lanes.push(lanes[0].another(false).await.expect("a lane"));
    }
    lanes
}

/// Four lanes of a model that drafts for itself, in caches that grow and a second time in other lanes, and in rings.
/// Most drafts are right.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_model_drafts_for_four_lanes() {
    for (name, file, tokens, turns) in [("llama", FILES[0], 40, 2), ("gemma3", FILES[1], 20, 1)] {
        let [first, _] = both(file).await;
        let room = Room { allocated: 32, ..Room::one(CONTEXT) }.for_requests(4);
        let mut lanes = lanes_of(&first, file, (&first, file), room).await;
        let requests = requests(first.session.config().vocab, tokens);
        let expected = alone(&mut lanes[0], &requests).await;
        for turn in 0..turns {
            let found = at_once(&mut lanes, &requests, &[Drafting::Model]).await;
            let [right, wrong] = counts(&found);
            console_log!("{name}, turn {turn}: {right:?} drafts were right, {wrong:?} wrong");
            assert_eq!(ids_of(&found), expected, "{name}, turn {turn}");
            // The first one chooses as the model that drafts does. While four are together each has one draft.
            let passes = found[0].ids.len() - right[0];
            assert!(wrong[0] <= 2 && 10 * passes <= 7 * found[0].ids.len(), "{name}: {passes} passes");
            assert!(right.iter().all(|&right| right > 0), "{name}: the test says nothing");
            lanes.rotate_left(1);
        }
    }
}

/// Some lanes have drafts of a model, some from their text, some none.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_have_drafts_of_a_model_beside_others() {
    let [first, _] = both(FILES[0]).await;
    let mut lanes = lanes_of(&first, FILES[0], (&first, FILES[0]), Room::one(CONTEXT).for_requests(4)).await;
    let mut requests = requests(first.session.config().vocab, 40);
    requests[1].1.biases = vec![(7, 90.0)];
    let expected = alone(&mut lanes[0], &requests).await;
    let ways = [Drafting::Model, Drafting::Prompt, Drafting::Off, Drafting::Model];
    let found = at_once(&mut lanes, &requests, &ways).await;
    let [right, wrong] = counts(&found);
    console_log!("{right:?} drafts were right, {wrong:?} wrong");
    assert_eq!(ids_of(&found), expected);
    assert!(right[0] > 0 && right[1] > 0 && right[3] > 0 && right[2] + wrong[2] == 0, "{right:?}, {wrong:?}");
}

/// A model of other weights is wrong most of the time.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn wrong_drafts_change_nothing_in_lanes() {
    let other = include_bytes!("../fixtures/models/llama-q3_k.gguf").as_slice();
    let [first, _] = both(FILES[0]).await;
    let AnySession::Gpu(lane) = &first.session else { panic!("not on the GPU") };
    let device = lane.model().device().clone();
    let draft = on_gpu(device.clone(), device.caps.clone(), other, CONTEXT).await;
    let draft = engine_of(AnySession::of_gpu(draft), other);
    let mut lanes = lanes_of(&first, FILES[0], (&draft, other), Room::one(CONTEXT).for_requests(3)).await;
    let requests = requests(first.session.config().vocab, 40);
    let expected = alone(&mut lanes[0], &requests[..3]).await;
    let found = at_once(&mut lanes, &requests[..3], &[Drafting::Model]).await;
    let [right, wrong] = counts(&found);
    console_log!("{right:?} drafts were right, {wrong:?} wrong");
    assert_eq!(ids_of(&found), expected);
    assert!(wrong.iter().sum::<usize>() > right.iter().sum(), "the test says nothing");
}

type Run<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// Lanes come and go: one is given up half-way and begins another text, and one has a prompt of more than a chunk,
/// which is read between the tokens of the others.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_with_a_draft_model_come_and_go() {
    let room = Room::one(1024).for_requests(3);
    let [first, _] = both_with(FILES[0], 1024, |caps| caps).await;
    let vocab = first.session.config().vocab;
    let mut lanes = lanes_of(&first, FILES[0], (&first, FILES[0]), room).await;
    let mut requests = requests(vocab, 60);
    requests[1].0 = ids(700, vocab);
    let expected = alone(&mut lanes[0], &requests[..3]).await;
    let of = |at: usize| of_request(&requests[at], Drafting::Model);
    let [long, short, given_up] = [of(1), of(0), of(2)];
    let [a, b, c] = &mut lanes[..] else { panic!("three lanes") };
    let again = async {
        c.reset();
        outcome(c, &given_up.0[4..], &given_up.1, Some(9)).await;
        written(c, &given_up).await
    };
    let runs: [Run<'_>; 3] = [Box::pin(written(a, &short)), Box::pin(written(b, &long)), Box::pin(again)];
    let found = together(runs).await;
    let [right, wrong] = counts(&found);
    console_log!("{right:?} drafts were right, {wrong:?} wrong");
    assert_eq!(ids_of(&found), expected);
    assert!(wrong[0] <= 2 && right.iter().all(|&right| right > 0), "{right:?}, {wrong:?}");
}

/// A lane goes on with what another one has read and written, and both go on together.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_fork_of_a_lane_has_drafts_of_a_model() {
    let room = Room::one(CONTEXT).for_requests(2);
    let [first, _] = both(FILES[0]).await;
    let mut one = with_draft_model(&first, FILES[0], room).await;
    let requests = requests(first.session.config().vocab, 24);
    let [request, other] = [&requests[0], &requests[1]].map(|request| of_request(request, Drafting::Model));
    let answer = written(&mut one, &request).await.ids;
    let mut fork = one.another(true).await.expect("a lane");
    let mut found = Vec::new();
    for drafting in [Drafting::Model, Drafting::Off] {
        let texts = [5, 8].map(|id| [&request.0[..], &answer, &[id, 3]].concat());
        let options = [&request.1, &other.1].map(|options| GenerateOptions { drafting, ..options.clone() });
        let runs: [Run<'_>; 2] = [
            Box::pin(outcome(&mut one, &texts[0], &options[0], None)),
            Box::pin(outcome(&mut fork, &texts[1], &options[1], None)),
        ];
        found.push(together(runs).await);
    }
    let [right, wrong] = counts(&found[0]);
    console_log!("{right:?} drafts were right, {wrong:?} wrong");
    assert_eq!(ids_of(&found[0]), ids_of(&found[1]));
    assert!(wrong[0] <= 2 && right.iter().all(|&right| right > 0), "{right:?}, {wrong:?}");
}
