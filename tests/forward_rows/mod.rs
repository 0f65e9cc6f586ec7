//! Prompts that hold rows of a buffer beside tokens.

#[path = "../common/embeddings.rs"]
mod embeddings;

use embeddings::embeddings;
use webgguf::model::InputSource;
use webgguf::runtime::HeldRows;

use super::*;

fn source(digest: u64, rows: usize) -> InputSource {
    InputSource { digest, count: rows as u32, columns: 0, canvas: 0 }
}

/// Ids of the embeddings of `text` as rows.
fn rows(engine: &Engine, file: &[u8], text: &[u32], digest: u64) -> Vec<u32> {
    held(engine, source(digest, text.len()), &embeddings(file, &header(file), text))
}

/// Ids of rows that are held until the tests end.
fn held(engine: &Engine, source: InputSource, rows: &[f32]) -> Vec<u32> {
    let held = engine.session.add_rows(source, rows).expect("rows of the right width");
    let ids = held.ids.clone().collect();
    std::mem::forget(held);
    ids
}

/// The largest distance of logits, relative to their size.
fn distance(found: &[f32], expected: &[f32], vocab: usize) -> f64 {
    assert_eq!(found.len(), expected.len());
    let size = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let rows = found.chunks(vocab).zip(expected.chunks(vocab)).map(|(found, expected)| {
        size(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / size(&mut expected.iter().copied())
    });
    rows.fold(0.0, f64::max)
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn embeddings_as_rows_say_what_their_tokens_say() {
    for file in FILES {
        let [mut gpu, mut cpu] = both(file).await;
        let vocab = cpu.session.config().vocab;
        let name = cpu.session.config().architecture;
        let text = ids(60, vocab);
        let [of_ids, expected] = [logits(&mut gpu, &text).await, logits(&mut cpu, &text).await];
        let all = rows(&gpu, file, &text, 1);
        let mixed = [&text[..9], &all[9..20], &text[20..37], &all[37..38], &text[38..50], &all[50..]].concat();
        for prompt in [all, mixed] {
            let found = logits(&mut gpu, &prompt).await;
            assert!(distance(&found, &of_ids, vocab) < 1e-5, "{name}: {:.2e}", distance(&found, &of_ids, vocab));
            assert!(distance(&found, &expected, vocab) < 2e-3, "{name}: {:.2e}", distance(&found, &expected, vocab));
        }
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn rows_are_cached_forked_and_saved() {
    for file in FILES {
        let [mut engine, _] = both(file).await;
        let name = engine.session.config().architecture;
        let few = options(6, SamplingOptions::default());
        let text = ids(100, engine.session.config().vocab);
        let expected = generate(&mut engine, &text, &few).await.0;
        let [picture, other] = [1, 2].map(|digest| rows(&engine, file, &text[10..70], digest));
        let with = |rows: &[u32]| [&text[..10], rows, &text[70..]].concat();
        let (answer, cached, _) = generate(&mut engine, &with(&picture), &few).await;
        assert_eq!((&answer, cached <= 10), (&expected, true), "{name}: rows are no tokens");
        let mut fork = engine.another(true).await.expect("room for a second cache");
        let saved = save(&mut engine).await;
        // Where rows of another source had these ids before.
        let [fresh, _] = both(file).await;
        rows(&fresh, file, &text[..30], 3);
        let mut restored = restore(&fresh, &saved).await.expect("the same model");
        let known = rows(&restored, file, &text[10..70], 1);
        assert_ne!(known, picture);
        let longer = |rows: &[u32]| [&with(rows), &expected[..], &[3, 4]].concat();
        let expected_longer = generate(&mut engine, &longer(&picture), &few).await;
        assert!(expected_longer.1 >= 99, "{name}: {} are cached", expected_longer.1);
        assert_eq!(generate(&mut fork, &longer(&picture), &few).await, expected_longer, "{name}: a fork");
        assert_eq!(generate(&mut restored, &longer(&known), &few).await, expected_longer, "{name}: a saved session");
        let (answer, cached, _) = generate(&mut engine, &with(&other), &few).await;
        assert_eq!((&answer, cached <= 10), (&expected, true), "{name}: another source");
    }
}

/// Positions with three axes, in prefill and in decode, in forks and saved sessions.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn cells_of_an_image_turn_by_several_axes() {
    const COLUMNS: u32 = 5;
    for file in [
        &include_bytes!("../fixtures/models/qwen2vl-f16.gguf")[..],
        include_bytes!("../fixtures/models/qwen3vl-f16.gguf"),
        FILES[2],
    ] {
        let [engine, mut cpu] = both(file).await;
        let vocab = cpu.session.config().vocab;
        let name = cpu.session.config().architecture;
        let mut gpu = in_room(&engine, file, Room { axes: true, ..Room::one(CONTEXT) }).await;
        let text = ids(60, vocab);
        let embedded = embeddings(file, &header(file), &text[10..40]);
        let prompt = |engine: &Engine, columns: u32| {
            let image = held(engine, InputSource { digest: 5, count: 30, columns, canvas: 0 }, &embedded);
            [&text[..10], &image, &text[40..]].concat()
        };
        let of_text = logits(&mut gpu, &text).await;
        let plain = prompt(&gpu, 0);
        assert!(distance(&logits(&mut gpu, &plain).await, &of_text, vocab) < 1e-5, "{name}: without columns");
        let [on_gpu, on_cpu] = [prompt(&gpu, COLUMNS), prompt(&cpu, COLUMNS)];
        let [found, expected] = [logits(&mut gpu, &on_gpu).await, logits(&mut cpu, &on_cpu).await];
        assert!(distance(&found, &expected, vocab) < 2e-3, "{name}: {:.2e}", distance(&found, &expected, vocab));
        assert!(distance(&found, &of_text, vocab) > 1e-2, "{name}: places that change nothing");
        let few = options(8, SamplingOptions::default());
        let answer = generate(&mut cpu, &on_cpu, &few).await.0;
        assert_eq!(generate(&mut gpu, &on_gpu, &few).await.0, answer, "{name}: greedy text");
        let mut fork = gpu.another(true).await.expect("room for a second cache");
        let saved = save(&mut gpu).await;
        let mut restored = restore(&gpu, &saved).await.expect("the same model");
        let longer = [&on_gpu[..], &answer, &[3, 4]].concat();
        let expected = generate(&mut cpu, &[&on_cpu[..], &answer, &[3, 4]].concat(), &few).await.0;
        for (what, engine) in [("itself", &mut gpu), ("a fork", &mut fork), ("a saved session", &mut restored)] {
            let (found, cached, _) = generate(engine, &longer, &few).await;
            assert_eq!((found, cached >= 60), (expected.clone(), true), "{name}: {what}");
        }
    }
}

/// As an encoder's rows: what the layers leave of one text is what another is read after.
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn hidden_states_of_one_request_are_rows_of_another() {
    let file = FILES[0];
    let device = device().await;
    let [mut gpu, mut cpu] = both(file).await;
    let (hidden, vocab) = (cpu.session.config().hidden, cpu.session.config().vocab);
    let text = ids(40, vocab);
    let mut tensors = TensorGpu::new(device.clone()).expect("room for parameters");
    let tensor = tensors.output(DType::F32, &[text.len() as u32, hidden as u32]).expect("room for a tensor");
    let target = tensors.buffer(&tensor);
    assert!(gpu.hidden_states(&text, &device, &target).await.expect("a working device"), "nothing stops it");
    let values: Vec<f32> = bytemuck::pod_collect_to_vec(&tensors.read(&tensor).await.expect("a working device"));
    let [read, given] = [&gpu, &cpu].map(|engine| engine.session.add_rows(source(7, text.len()), &values));
    let [read, given] = [read.expect("rows on the GPU"), given.expect("the same rows")];
    assert!(gpu.session.add_rows(source(8, text.len() + 1), &values).is_err(), "a row too many");
    let prompt = |rows: &HeldRows| [&[1, 2][..], &rows.ids.clone().collect::<Vec<_>>(), &[3, 4]].concat();
    let [found, expected] = [logits(&mut gpu, &prompt(&read)).await, logits(&mut cpu, &prompt(&given)).await];
    assert!(distance(&found, &expected, vocab) < 2e-3, "{:.2e}", distance(&found, &expected, vocab));
}

/// One by one, by the list of decode, and in a lane.
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn few_rows_and_lanes_take_rows() {
    let file = FILES[0];
    let [mut engine, _] = both(file).await;
    let few = options(6, SamplingOptions::default());
    let text = ids(20, engine.session.config().vocab);
    let expected = generate(&mut engine, &text, &few).await.0;
    let given = rows(&engine, file, &text, 1);
    let mut session = engine.another(false).await.expect("room for a second cache").session;
    let go = Cell::new(false);
    session.configure(&few.sampling, &RunIds::default(), &text);
    session.read(&text[..16], 0, &go).await.expect("a working device");
    session.read(&given[16..20], 16, &go).await.expect("a working device");
    assert!(session.step().expect("a working device"));
    assert_eq!(session.next().await.expect("a working device").map(|token| token.id), Some(expected[0]));
    session.feed(&given[19..20], 19, &go).await.expect("a working device");
    assert_eq!(session.next().await.expect("a working device").map(|token| token.id), Some(expected[0]));
    let AnySession::Gpu(session) = &engine.session else { panic!("not on the GPU") };
    let room = Room { sequences: 2, rows: 2, ..Room::one(CONTEXT) };
    let lanes = GpuSession::with_room(session.model().clone(), room).await.expect("room");
    let mut lane = engine_of(AnySession::of_gpu(lanes), file);
    assert_eq!(generate(&mut lane, &[&given[..19], &text[19..]].concat(), &few).await.0, expected, "a lane");
    // A row at the end, which no pass of several lanes could have.
    lane.session.rewind(0);
    lane.session.configure(&few.sampling, &RunIds::default(), &text);
    lane.session.feed(&given, 0, &go).await.expect("a working device");
    assert_eq!(lane.session.next().await.expect("a working device").map(|token| token.id), Some(expected[0]));
    assert!(lane.session.step().expect("a working device"));
    assert_eq!(lane.session.next().await.expect("a working device").map(|token| token.id), Some(expected[1]));
    let refused = lane.session.read(&given, 0, &go).await.expect_err("nothing could choose a token later");
    assert_eq!(refused.code(), ErrorCode::InvalidArgument, "{refused}");
}

/// Rows for deeper layers, in one pass and one by one, by the list of decode.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn few_rows_reach_deeper_layers() {
    let file = include_bytes!("../fixtures/encoders/qwen3vl-deep-text.gguf");
    let [mut gpu, mut cpu] = both(file).await;
    let (vocab, width) = (cpu.session.config().vocab, cpu.session.config().row_width());
    let text = ids(20, vocab);
    let given: Vec<f32> = (0..3 * width).map(|i| ((i * i * 7 + i) % 101) as f32 / 50.0 - 1.0).collect();
    for (at, values) in [given.clone(), given.iter().map(|x| -x).collect()].into_iter().enumerate() {
        let prompt =
            |engine: &Engine| [&text[..16], &held(engine, source(at as u64 + 1, 3), &values), &text[19..]].concat();
        let [on_gpu, on_cpu] = [prompt(&gpu), prompt(&cpu)];
        let expected = logits(&mut cpu, &on_cpu).await[19 * vocab..].to_vec();
        let whole = logits(&mut gpu, &on_gpu).await[19 * vocab..].to_vec();
        assert!(distance(&whole, &expected, vocab) < 2e-3, "one pass: {:.2e}", distance(&whole, &expected, vocab));
        let (session, go) = (&mut gpu.session, Cell::new(false));
        session.configure(&SamplingOptions::default(), &RunIds { logits: true, ..RunIds::default() }, &text);
        session.read(&on_gpu[..16], 0, &go).await.expect("a working device");
        session.read(&on_gpu[16..], 16, &go).await.expect("a working device");
        assert!(session.step().expect("a working device"));
        session.next().await.expect("a working device");
        let found = session.take_logits().expect("they are wanted");
        assert!(distance(&found, &expected, vocab) < 2e-3, "one by one: {:.2e}", distance(&found, &expected, vocab));
        session.rest();
    }
}
