//! The prefix cache: texts in turn on one session are read once, and are what they are without it.

use webgguf::runtime::AdapterUse;

use super::*;

/// What comes before a run in a page: the session keeps what it would lose, and takes what is kept.
async fn exchange(engine: &mut Engine, prompt: &[u32], with: &[AdapterUse]) {
    let kept = engine.kept_of(prompt, with);
    engine.keep_before(prompt, with, kept.as_ref()).await.expect("a working device");
    if let Some(kept) = kept {
        engine.take_kept(&kept).await.expect("a working device");
    }
}

/// The ids of an answer, and how many tokens of its prompt were not read again.
async fn write(engine: &mut Engine, prompt: &[u32], options: &GenerateOptions) -> (Vec<u32>, usize) {
    let adapters = engine.adapters_of(&options.adapters, prompt).expect("known adapters");
    exchange(engine, prompt, &adapters).await;
    let (ids, cached, _) = generate(engine, prompt, options).await;
    (ids, cached)
}

fn set_budget(engine: &Engine, bytes: u64) {
    engine.session.prefixes().set_budget(bytes);
}

fn bytes(engine: &Engine) -> u64 {
    engine.session.prefixes().bytes()
}

/// Numbers of blocks, of their tokens and of hits.
fn counts(engine: &Engine) -> [u32; 3] {
    engine.session.prefixes().counts()
}

/// Conversations of these lengths in tokens, each with another text.
fn conversations(lengths: &[usize], vocab: usize) -> Vec<Vec<u32>> {
    let text = |(of, &length): (usize, &usize)| {
        ids(length + of, vocab)[of..].iter().map(|id| (id + 3 * of as u32) % vocab as u32).collect()
    };
    lengths.iter().enumerate().map(text).collect()
}

/// Two rounds of conversations in turn. Each prompt of the second round is the first one, its answer and some more.
async fn in_turn(name: &str, file: &[u8], room: Room, lengths: &[usize]) {
    let [loaded, _] = both_with(file, room.context, |caps| caps).await;
    let AnySession::Gpu(lane) = &loaded.session else { panic!("not on the GPU") };
    let session = GpuSession::with_room(lane.model().clone(), room).await.expect("room");
    let mut plain = engine_of(AnySession::of_gpu(session), file);
    let mut engine = plain.another(false).await.expect("room");
    set_budget(&engine, 1 << 30);
    let few = options(6, SamplingOptions::default());
    let mut texts = conversations(lengths, engine.session.config().vocab);
    for round in 0..3 {
        for (at, text) in texts.iter_mut().enumerate() {
            plain.reset();
            let expected = generate(&mut plain, text, &few).await.0;
            let (found, cached) = write(&mut engine, text, &few).await;
            assert_eq!(found, expected, "{name}: text {at}, round {round}");
            // The last token of an answer was not read, and a state goes on from its last copy.
            let least = if round == 0 { 0 } else { text.len() - 4 - 64 };
            assert!(cached >= least, "{name}: text {at}, round {round}: {cached} of {} were cached", text.len());
            text.extend(expected.iter().chain(&[5, 6, 7]));
        }
    }
    let [blocks, tokens, hits] = counts(&engine);
    assert_eq!(hits as usize, 2 * lengths.len(), "{name}: each text is taken in the second and the third round");
    let kept: usize = lengths[1..].iter().sum();
    assert!(blocks > 0 && tokens as usize >= kept, "{name}: {tokens} tokens in {blocks} blocks");
    let (held, most) = (bytes(&engine), 2 * bytes(&engine) / 3);
    assert!(held > 0, "{name}: nothing was kept");
    set_budget(&engine, most);
    assert!(bytes(&engine) <= most, "{name}: {} bytes of {most}", bytes(&engine));
    set_budget(&engine, 0);
    assert_eq!(bytes(&engine), 0, "{name}");
    assert_eq!(counts(&engine), [0, 0, hits], "{name}");
    plain.reset();
    let expected = generate(&mut plain, &texts[0], &few).await.0;
    assert_eq!(write(&mut engine, &texts[0], &few).await, (expected, 0), "{name}: without a budget");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn texts_in_turn_are_read_once() {
    let growing = Room { allocated: 64, ..Room::one(CONTEXT) };
    in_turn("llama", FILES[0], growing, &[300, 150]).await;
    in_turn("qwen35", FILES[2], Room::one(CONTEXT), &[300, 150]).await;
    in_turn("gemma3", FILES[1], Room::one(1024), &[700, 200]).await;
    in_turn("graniteswitch", SWITCH, growing, &[300, 150]).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn texts_in_turn_are_read_once_by_other_families() {
    let files: [(&str, &[u8]); 4] = [
        ("lfm2", include_bytes!("../fixtures/models/lfm2-q8_0.gguf")),
        ("mamba2", include_bytes!("../fixtures/models/mamba2-f32.gguf")),
        ("gemma4", include_bytes!("../fixtures/models/gemma4-q8_0.gguf")),
        ("deepseek2", include_bytes!("../fixtures/models/deepseek2-f16.gguf")),
    ];
    for (name, file) in files {
        in_turn(name, file, Room::one(CONTEXT), &[300, 150]).await;
    }
    for kv_type in [KvType::Q8_0, KvType::Q4_0] {
        let room = Room { kv_type, ..Room::one(CONTEXT) };
        in_turn(kv_type.as_str(), FILES[0], room, &[300, 150]).await;
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_keep_and_take_alike() {
    let [mut plain, _] = both(FILES[0]).await;
    let texts = conversations(&[300, 280, 260, 320], plain.session.config().vocab);
    let few = options(6, SamplingOptions::default());
    let mut expected = Vec::new();
    for text in &texts {
        plain.reset();
        expected.push(generate(&mut plain, text, &few).await.0);
    }
    let AnySession::Gpu(lane) = &plain.session else { panic!("not on the GPU") };
    let room = Room::one(CONTEXT).for_requests(2);
    let session = GpuSession::with_room(lane.model().clone(), room).await.expect("room");
    let first = engine_of(AnySession::of_gpu(session), FILES[0]);
    set_budget(&first, 1 << 30);
    let second = first.another(false).await.expect("a lane");
    let mut lanes = [second, first];
    for round in 0..3 {
        for pair in [[0, 1], [2, 3]] {
            // In the other lane than before.
            lanes.reverse();
            let pairs = lanes.iter_mut().zip(pair);
            let found = together(pairs.map(|(lane, at)| {
                let (text, few) = (&texts[at], &few);
                async move { write(lane, text, few).await }
            }));
            for ((answer, cached), at) in found.await.into_iter().zip(pair) {
                assert_eq!(answer, expected[at], "text {at}, round {round}");
                assert_eq!(cached, if round == 0 { 0 } else { texts[at].len() - 1 }, "text {at}, round {round}");
            }
        }
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn some_texts_are_not_kept() {
    let [mut engine, _] = both(FILES[0]).await;
    set_budget(&engine, 1 << 30);
    let texts = conversations(&[300, 280], engine.session.config().vocab);
    let few = options(6, SamplingOptions::default());
    let private = GenerateOptions { is_private: true, ..few.clone() };
    // Neither a private prompt,
    write(&mut engine, &texts[0], &private).await;
    write(&mut engine, &texts[1], &few).await;
    assert_eq!(bytes(&engine), 0);
    // nor what a private request adds to another text.
    let longer = [&texts[1][..], &texts[0][..100]].concat();
    assert!(write(&mut engine, &longer, &private).await.1 >= 279);
    write(&mut engine, &[1, 2, 3], &few).await;
    let per_token = bytes(&engine) / 280;
    assert_eq!(bytes(&engine), 280 * per_token, "a text of 280 tokens");
    assert_eq!(write(&mut engine, &longer, &few).await.1, 280);
    // An answer is no prompt.
    let before = bytes(&engine);
    let answer = generate(&mut engine, &texts[0][..150], &options(200, SamplingOptions::default())).await.0;
    let other = [&texts[0][..150], &answer[..3], &[9]].concat();
    write(&mut engine, &other, &few).await;
    assert_eq!(bytes(&engine), before);
    write(&mut engine, &[1, 2, 3], &few).await;
    assert!(bytes(&engine) > before);
    engine.reset();
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn texts_of_other_adapters_are_others() {
    let file = include_bytes!("../fixtures/models/llama-f32.gguf");
    let adapter = include_bytes!("../fixtures/adapters/llama-f32.all.gguf");
    let [mut engine, _] = both(file).await;
    engine.add_adapter(1, adapter).await.expect("an adapter of this model");
    let mut plain = engine.another(false).await.expect("room");
    set_budget(&engine, 1 << 30);
    let texts = conversations(&[300, 280], engine.session.config().vocab);
    let few = |adapters: &[(u32, f32)]| GenerateOptions {
        adapters: adapters.to_vec(),
        ..options(6, SamplingOptions::default())
    };
    let uses: [&[(u32, f32)]; 3] = [&[], &[(1, 1.0)], &[(1, 0.5)]];
    for round in 0..2 {
        for (with, text) in uses.iter().flat_map(|with| texts.iter().map(move |text| (with, text))) {
            plain.reset();
            let expected = generate(&mut plain, text, &few(with)).await.0;
            let (found, cached) = write(&mut engine, text, &few(with)).await;
            assert_eq!(found, expected, "{with:?}, round {round}");
            assert_eq!(cached, if round == 0 { 0 } else { text.len() - 1 }, "{with:?}, round {round}");
        }
    }
    let before = bytes(&engine);
    assert!(engine.remove_adapter(1));
    assert!(bytes(&engine) > 0 && bytes(&engine) < before, "{} bytes of {before}", bytes(&engine));
}
