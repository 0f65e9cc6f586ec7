//! The dispatch lists of small models of each kind, held by `tests/fixtures/dispatches.txt`: what runs, on which
//! buffers, in which order. After a change on purpose, write it anew with `WEBGGUF_BLESS=1 cargo test --test
//! dispatches`.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/tiny.rs"]
mod tiny;

use std::collections::HashMap;
use std::fmt::Write as _;

use webgguf::forward::{Buffers, Forward, Plan, Room, place};
use webgguf::gguf::{GgmlType, Value};
use webgguf::kernels::caps::{Caps, MatrixShape, Precision};
use webgguf::kernels::shaders::{self, DEVICE, FETCHED, RARE};
use webgguf::kernels::spec::{BufferId, Dispatch, Extent, Kernel, MAX_WORKGROUPS, Slice};
use webgguf::kernels::tuned::Tuned;
use webgguf::model::ModelConfig;
use webgguf::model::program::{Op, Output, Program};
use webgguf::model::{Role, architectures, expects_rare, is_rare, match_tensors, needs_rare};

fn config(architecture: &str) -> ModelConfig {
    let mut metadata = tiny::metadata(architecture);
    let numbers = [
        ("block_count", 2),
        ("context_length", 8192),
        ("embedding_length", 512),
        ("feed_forward_length", 1280),
        ("attention.head_count", 8),
        ("attention.head_count_kv", 2),
    ];
    for (key, number) in numbers {
        metadata.insert(format!("{architecture}.{key}"), Value::U32(number));
    }
    for (key, value) in tiny::recurrent_keys(architecture, 512) {
        metadata.insert(key, value);
    }
    if architecture == "qwen" {
        // Files say twice the width.
        metadata.insert("qwen.feed_forward_length", Value::U32(2 * 1280));
    }
    let with_tables = architecture == "gemma4";
    if with_tables {
        metadata.insert("gemma4.embedding_length_per_layer_input", Value::U32(256));
    }
    let mut header = tiny::header(metadata);
    if with_tables {
        header.tensors.extend((0..2).map(|i| tiny::tensor(&format!("blk.{i}.layer_output_scale.weight"), &[1])));
    }
    header.tensors.iter_mut().filter(|tensor| tensor.dims.len() > 1).for_each(|tensor| tensor.dims[0] = 512);
    webgguf::model::config(&header).expect("a good header")
}

/// A dispatch in a line: variant, grid and what it writes or reads.
fn line(text: &mut String, dispatch: &Dispatch, labels: &HashMap<BufferId, &str>) {
    let grid = dispatch.grid.map(|extent| match extent {
        Extent::Fixed(count) => count.to_string(),
        Extent::PerRows(per) => format!("tokens/{per}"),
        Extent::Tiles { of_row, tile, most_open } => format!("tokens*{of_row}/{tile}+{most_open}"),
    });
    let buffers: Vec<&str> = dispatch.buffers.iter().map(|slice| labels[&slice.buffer]).collect();
    assert!(!FETCHED.contains(&dispatch.kernel.spec.kernel_name), "{}: models cannot run it", dispatch.kernel.id);
    let _ = writeln!(text, "  {} [{}] {}", dispatch.kernel.id, grid.join(", "), buffers.join(", "));
}

/// The names of the shaders that `kernel` is made of.
fn files_of(kernel: &Kernel) -> Vec<String> {
    let mut files = vec![kernel.spec.kernel_name.to_owned()];
    let mut at = 0;
    while at < files.len() {
        for name in shaders::text(&files[at]).lines().filter_map(|line| line.strip_prefix("#import ")) {
            let name = name.trim();
            let chosen = kernel.imports.iter().find(|(from, _)| *from == name).map_or(name, |(_, file)| *file);
            let file = format!("shared/{chosen}");
            if !files.contains(&file) {
                files.push(file);
            }
        }
        at += 1;
    }
    files
}

fn dump(name: &str, architecture: &str, caps: &Caps, ty: impl Fn(Role) -> GgmlType) -> String {
    let config = config(architecture);
    let tensors = tiny::typed_tensors(&config, ty);
    let mut plan = Plan::default();
    let matched = match_tensors(&config, &tensors).expect("all tensors");
    let program = webgguf::model::program(&config);
    let weights = place(&program, caps, &tensors, matched, &mut plan).expect("room").weights;
    let buffers = match program.output {
        Output::Logits => Buffers::alloc(&program, config.vocab, Room::one(4096), &mut plan),
        _ => Buffers::for_batches(&program, 2048, &mut plan),
    };
    let labels: HashMap<BufferId, &str> = plan.buffers.iter().map(|b| (b.id, b.label.as_str())).collect();
    let forward = Forward::new(&program, caps, &weights, &buffers);
    let mut kept = 0;
    let lists = match program.output {
        Output::Logits => {
            let lists = forward.lists();
            kept = lists.kept;
            [
                ("prefill", lists.prefill),
                ("head", lists.head),
                ("decode", lists.decode),
                ("greedy", lists.greedy),
                ("sample", lists.sample),
                ("all", forward.head_of_all(buffers.logits)),
            ]
            .into_iter()
            .chain([("source", lists.source), ("keys", lists.keys)].into_iter().filter(|(_, list)| !list.is_empty()))
            .collect()
        }
        _ => {
            let lists = forward.batch_lists(2048);
            vec![("rows", lists.rows), ("inputs", lists.inputs)]
        }
    };
    let mut text = String::new();
    let is_rare = needs_rare(&program, tensors.iter().map(|tensor| tensor.ty));
    let rounds = caps.rounds_activations();
    for (list, dispatches) in lists {
        for dispatch in &dispatches {
            let lacks = |file: &&str| !is_rare && RARE.contains(file) || !rounds && DEVICE.contains(file);
            let files = files_of(&dispatch.kernel);
            let lacking = files.iter().map(String::as_str).find(lacks);
            assert_eq!(lacking, None, "{architecture} {name}: {} on a page that lacks it", dispatch.kernel.id);
        }
        let _ = writeln!(text, "{architecture} {name} {list}");
        for (number, dispatch) in dispatches.iter().enumerate() {
            if list == "prefill" && number == kept {
                text += "  (caches are complete)\n";
            }
            line(&mut text, dispatch, &labels);
        }
    }
    text
}

#[test]
fn every_family_runs_the_dispatches_of_the_snapshot() {
    let large = || Caps { max_binding: 2 << 30, max_buffer: 4 << 30, ..Caps::baseline() };
    let nvidia = Caps { subgroups: true, subgroup_size: (32, 32), dot4: true, vendor: "nvidia".into(), ..large() };
    let mut text = String::new();
    for architecture in architectures() {
        text +=
            &dump("q4_0 on NVIDIA", architecture, &nvidia.clone().with_precision(Precision::Auto), |_| GgmlType::Q4_0);
        text += &dump("mixed types on any device", architecture, &large(), |role| match role {
            Role::AttnV | Role::FfnDown | Role::ExpertDown | Role::Output => GgmlType::Q6_K,
            Role::FfnGate | Role::ExpertGate => GgmlType::Q5_K,
            Role::AttnKB | Role::AttnVB | Role::Named { name: "laurel_r.weight", .. } => GgmlType::Q8_0,
            // Rows of 64.
            Role::SsmDtOut if architecture == "plamo2" => GgmlType::Q8_0,
            _ => GgmlType::Q4_K,
        });
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/dispatches.txt");
    if std::env::var_os("WEBGGUF_BLESS").is_some() {
        std::fs::write(file, &text).expect("a writable snapshot");
    }
    let expected = std::fs::read_to_string(file).unwrap_or_default();
    for (number, (found, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of the snapshot", number + 1);
    }
    assert_eq!(text.lines().count(), expected.lines().count());
}

/// A pass with a draft has one dispatch more than one of as many rows, and the others are what they are without.
#[test]
fn drafts_take_one_dispatch_and_leave_other_passes_as_they_are() {
    let caps = Caps::baseline();
    let config = config("llama");
    let tensors = tiny::typed_tensors(&config, |_| GgmlType::Q4_0);
    let program = webgguf::model::program(&config);
    let lists = |room: Room| {
        let mut plan = Plan::default();
        let matched = match_tensors(&config, &tensors).expect("all tensors");
        let weights = place(&program, &caps, &tensors, matched, &mut plan).expect("room").weights;
        let buffers = Buffers::alloc(&program, config.vocab, room, &mut plan);
        let forward = Forward::new(&program, &caps, &weights, &buffers);
        [forward.lists(), forward.lists_of_rows(8), forward.lists_of_draft(8)]
    };
    let key = |dispatch: &Dispatch| (dispatch.kernel.key(), dispatch.grid, dispatch.buffers.clone());
    let [plain, ..] = lists(Room::one(4096));
    let [one, rows, draft] = lists(Room::one(4096).with_drafts(true));
    assert!(plain.all().map(key).eq(one.all().map(key)), "a pass of one token");
    assert!(rows.decode.iter().map(key).eq(draft.decode.iter().map(key)));
    assert_eq!((draft.greedy.len(), draft.sample.len()), (one.greedy.len() + 1, one.sample.len() + 1));
    assert!([&draft.greedy, &draft.sample].iter().all(|list| list.last().is_some_and(|last| last.buffers.len() == 6)));
    let drafts = ["argmax_merge.draft", "accept_drafts", "penalties.draft", "sample_candidates.draft", "sample.draft"];
    let ids: Vec<&str> = draft.greedy.iter().chain(&draft.sample).map(|dispatch| dispatch.kernel.id.as_str()).collect();
    assert!(drafts.iter().all(|id| ids.contains(id)), "{ids:?}");
}

/// After a pass with a draft each operation with a recurrent state runs once more, over the accepted rows and from
/// the states of before. What these operations read is written by nothing else of the pass.
#[test]
fn recurrent_states_are_replayed_after_a_draft() {
    let mut known = 0;
    for architecture in architectures() {
        let config = config(architecture);
        let tensors = tiny::typed_tensors(&config, |_| GgmlType::Q4_0);
        let program = webgguf::model::program(&config);
        if program.states().is_empty() || config.embedder.pooling.is_some() {
            continue;
        }
        known += 1;
        let mut plan = Plan::default();
        let matched = match_tensors(&config, &tensors).expect("all tensors");
        let caps = Caps::baseline();
        let weights = place(&program, &caps, &tensors, matched, &mut plan).expect("room").weights;
        let buffers = Buffers::alloc(&program, config.vocab, Room::one(4096).with_drafts(true), &mut plan);
        let forward = Forward::new(&program, &caps, &weights, &buffers);
        let (rows, draft) = (forward.lists_of_rows(8), forward.lists_of_draft(8));
        assert_eq!(rows.decode.len(), draft.decode.len(), "{architecture}");
        assert_eq!(draft.replay.len(), program.states().len(), "{architecture}");
        let replay = buffers.replay.as_ref().unwrap_or_else(|| panic!("{architecture}: no recurrent states"));
        for dispatch in &draft.replay {
            let has = |slice: &Slice| dispatch.buffers.iter().any(|of| of.buffer == slice.buffer);
            assert!(has(&buffers.sample.drafts.kept) && !has(&buffers.pass), "{architecture}: the rows");
            assert!(replay.states.iter().any(has) && !buffers.states.iter().any(has), "{architecture}: the states");
        }
        let own = [buffers.pass, buffers.sample.drafts.kept].map(|of| of.buffer);
        let own: Vec<BufferId> = own.into_iter().chain(buffers.states.iter().map(|of| of.buffer)).collect();
        let own: Vec<BufferId> = own.into_iter().chain(replay.states.iter().map(|of| of.buffer)).collect();
        for again in &draft.replay {
            let inputs = |of: &Dispatch| {
                of.buffers.iter().map(|of| of.buffer).filter(|of| !own.contains(of)).collect::<Vec<BufferId>>()
            };
            let read = inputs(again);
            let first = |of: &Dispatch| of.kernel.key() == again.kernel.key() && inputs(of) == read;
            let at = draft.decode.iter().position(first).expect("the same in the pass");
            let mut later = draft.decode[at + 1..].iter().filter_map(|of| of.buffers.last());
            let (_, read) = read.split_last().expect("buffers");
            assert!(later.all(|of| !read.contains(&of.buffer)), "{architecture}: written once more");
        }
    }
    assert!(known > 12, "{known} architectures with recurrent states");
}

/// The block that predicts the token after the next goes along every pass, as far as its cache needs, and drafts in
/// steps of its own.
#[test]
fn a_block_that_drafts_goes_along_every_pass() {
    let mut config = config("qwen35");
    config.predicts_next = true;
    config.tensor_names.insert(format!("blk.{}.nextn.eh_proj.weight", config.layers));
    let tensors = tiny::typed_tensors(&config, |_| GgmlType::Q4_0);
    let program = webgguf::model::program(&config);
    let mut plan = Plan::default();
    let matched = match_tensors(&config, &tensors).expect("all tensors");
    let caps = Caps::baseline();
    let weights = place(&program, &caps, &tensors, matched, &mut plan).expect("room").weights;
    let buffers = Buffers::alloc(&program, config.vocab, Room::one(4096).with_drafts(true), &mut plan);
    let lists = |program: &Program| {
        let forward = Forward::new(program, &caps, &weights, &buffers);
        [forward.lists(), forward.lists_of_draft(8), forward.lists_of_steps(1)]
    };
    let [one, draft, step] = lists(&program);
    let [alone, draft_alone, _] = lists(&Program { next: None, ..program.clone() });
    let id = |dispatch: &Dispatch| dispatch.kernel.id.clone();
    let more: Vec<String> = one.decode[alone.decode.len()..].iter().map(id).collect();
    assert_eq!(more.len(), 8, "a token takes {more:?} more");
    assert_eq!((one.kept, draft.greedy.len()), (one.prefill.len(), draft_alone.greedy.len() + 1));
    assert_eq!(draft.greedy.last().map(id).as_deref(), Some("carry_row"));
    assert_eq!(one.follow.last().map(id).as_deref(), Some("carry_row"));
    assert_eq!(step.step.len(), 16, "a draft of a token");
    let cache = buffers.cache.last().expect("the cache of the block").cache.k.buffer;
    for (name, list) in [("many rows", &one.follow), ("one row", &one.decode), ("a draft", &draft.decode)] {
        assert!(list.iter().any(|of| of.buffers.iter().any(|of| of.buffer == cache)), "{name}: its cache is filled");
    }
    assert!(alone.all().flat_map(|of| &of.buffers).all(|of| of.buffer != cache), "nothing else uses it");
    let sequences = Room::one(4096).for_requests(2).with_drafts(true);
    let buffers = Buffers::alloc(&program, config.vocab, sequences, &mut plan);
    let forward = Forward::new(&program, &caps, &weights, &buffers);
    let (two, draft) = (forward.lists_of_rows(2), forward.lists_of_draft(8));
    let carries = |list: &[Dispatch]| list.iter().map(id).filter(|id| id == "carry_rows").count();
    assert_eq!([&two.decode, &two.greedy, &draft.decode, &draft.greedy].map(|list| carries(list)), [1, 0, 1, 1]);
    // Rows of several sequences have their keys and values from a dispatch of its own.
    assert_eq!(forward.lists_of_steps(2).step.len(), 17, "a draft of a token for each of two sequences");
}

/// The cache of a block with experts is filled by every pass, and by nothing but the block.
#[test]
fn blocks_with_experts_have_a_cache_of_their_own() {
    for architecture in ["qwen35moe", "qwen3next", "deepseek2", "mellum"] {
        let mut config = config(architecture);
        config.predicts_next = true;
        config.tensor_names.insert(format!("blk.{}.nextn.eh_proj.weight", config.layers));
        let tensors = tiny::typed_tensors(&config, |_| GgmlType::Q4_0);
        let program = webgguf::model::program(&config);
        let block = program.next.as_deref().expect("a block");
        assert!(block.layers[0].iter().any(|op| matches!(op, Op::Route { .. })), "{architecture}: experts");
        let (mut plan, caps) = (Plan::default(), Caps::baseline());
        let matched = match_tensors(&config, &tensors).expect("all tensors");
        let weights = place(&program, &caps, &tensors, matched, &mut plan).expect("room").weights;
        let room = Room::one(4096).for_requests(2).with_drafts(true);
        let buffers = Buffers::alloc(&program, config.vocab, room, &mut plan);
        let forward = Forward::new(&program, &caps, &weights, &buffers);
        let (one, draft, steps) = (forward.lists(), forward.lists_of_draft(8), forward.lists_of_steps(2));
        let cache = buffers.cache.last().expect("the cache of the block").cache.k.buffer;
        let fills = |list: &[Dispatch]| list.iter().any(|of| of.buffers.iter().any(|of| of.buffer == cache));
        let lists = [&one.follow, &one.decode, &draft.decode, &steps.step, &one.prefill];
        assert_eq!(lists.map(|list| fills(list)), [true, true, true, true, false], "{architecture}");
    }
}

/// What runs a model of this architecture: each kernel with its constants.
fn kernels(architecture: &str, caps: &Caps) -> Vec<String> {
    let config = config(architecture);
    let tensors = tiny::typed_tensors(&config, |_| GgmlType::Q4_0);
    let mut plan = Plan::default();
    let matched = match_tensors(&config, &tensors).expect("all tensors");
    let program = webgguf::model::program(&config);
    let weights = place(&program, caps, &tensors, matched, &mut plan).expect("room").weights;
    let buffers = Buffers::alloc(&program, config.vocab, Room::one(4096), &mut plan);
    let lists = Forward::new(&program, caps, &weights, &buffers).lists();
    for dispatch in lists.all() {
        let wide = dispatch.grid.iter().find(|extent| extent.resolve(512) > MAX_WORKGROUPS);
        assert!(wide.is_none(), "{} has {wide:?}", dispatch.kernel.id);
    }
    lists.all().map(|dispatch| dispatch.kernel.key()).collect()
}

#[test]
fn every_row_that_a_device_can_run_runs_where_a_verdict_says_so() {
    let nvidia = Caps { subgroups: true, subgroup_size: (32, 32), dot4: true, ..Caps::baseline() };
    let matrices =
        Caps { f16: true, subgroup_matrix: Some(MatrixShape::ALL[0]), workgroup_memory: 48 << 10, ..nvidia.clone() };
    let halves = Caps { f16: true, ..Caps::baseline() }.with_precision(Precision::Fast);
    let [baseline, nvidia, matrices] =
        [Caps::baseline(), nvidia, matrices].map(|caps| caps.with_precision(Precision::Auto));
    for (architecture, caps) in [
        ("llama", baseline),
        ("llama", nvidia),
        ("llama", halves),
        ("gemma3", matrices.clone()),
        ("qwen3moe", matrices),
    ] {
        let caps = Caps { tuned: Tuned::default(), ..caps };
        caps.tuned.listen();
        let table = kernels(architecture, &caps);
        let heard = caps.tuned.heard();
        assert!(heard.lines().count() > 3, "{architecture}: {heard}");
        for line in heard.lines() {
            let (problem, rows) = line.split_once('=').expect("rows");
            let (chosen, mask) = rows.split_once(',').expect("the table's row and a mask");
            let [chosen, mask]: [u32; 2] = [chosen, mask].map(|number| number.parse().expect("a number"));
            let rows: Vec<u32> = (0..32).filter(|row| mask >> row & 1 == 1).collect();
            assert!(rows.contains(&chosen), "{line}: the table's row is one that can run");
            for row in &rows {
                caps.tuned.set(&format!("{problem}={row}"));
                assert_eq!(kernels(architecture, &caps) == table, *row == chosen, "{architecture}: {problem}={row}");
            }
            let none = (0..40).find(|row| !rows.contains(row)).expect("a row that cannot run");
            caps.tuned.set(&format!("{problem}={none}\n{problem}=x\n={problem}"));
            assert_eq!(kernels(architecture, &caps), table, "{problem}={none}");
        }
    }
}

/// A page fetches the rare shaders for exactly the types whose shaders are among them, and for types with a grid.
#[test]
fn types_whose_shaders_pages_fetch_are_rare() {
    let program = webgguf::model::program(&config("llama"));
    for ty in GgmlType::ALL {
        let format = ty.format();
        let is_fetched = [format.weights, format.repack].iter().any(|file| RARE.contains(&&*format!("shared/{file}")));
        assert_eq!(needs_rare(&program, [ty]), is_fetched || format.grid().is_some(), "{ty:?}");
    }
    assert!(!needs_rare(&program, [GgmlType::Q4_0]) && needs_rare(&webgguf::model::program(&config("qwen35")), []));
}

/// With the code of a rare family, a page fetches the shaders that its models will need, also where the numbers here
/// make no recurrent layer.
#[test]
fn the_shaders_of_a_rare_family_are_known_before_its_code() {
    let mut in_vain = Vec::new();
    for architecture in architectures() {
        let metadata = tiny::metadata(architecture);
        let program = webgguf::model::program(&config(architecture));
        for ty in [GgmlType::Q4_0, GgmlType::TQ1_0] {
            let needs = is_rare(&metadata) && needs_rare(&program, [ty]);
            match (expects_rare(&metadata, [ty]), needs) {
                (true, false) => in_vain.push(architecture),
                (expects, needs) => assert_eq!(expects, needs, "{architecture} with tensors of {ty:?}"),
            }
        }
    }
    assert_eq!(in_vain, ["granitehybrid"]);
}
