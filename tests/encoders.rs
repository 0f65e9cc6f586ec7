//! Files of encoders of images and sounds: what they are, and what is refused of them.
#![cfg(not(target_arch = "wasm32"))]

use webgguf::ErrorCode::{self, BadFile, UnsupportedArchitecture};
use webgguf::forward::{Buffers, Forward, Plan, place};
use webgguf::gguf::{Array, GgmlType, Gguf, HeaderReader, Metadata, TensorInfo, Value};
use webgguf::kernels::caps::{ActivationFormat, Caps, MatrixShape};
use webgguf::model::{EncoderInput, Fold, ModelConfig, flatten, match_tensors, program, rounded_kernel};

const NAMES: [&str; 63] = [
    "gemma3",
    "gemma3nv",
    "gemma3nv-odd",
    "idefics3",
    "lfm2",
    "qwen2vl",
    "qwen25vl",
    "qwen3vl",
    "qwen3vl-deep",
    "pixtral",
    "pixtral-single",
    "internvl",
    "gemma4v",
    "ultravox",
    "qwen2a",
    "qwen3a",
    "gemma4a",
    "voxtral",
    "gemma4v-bounded",
    "gemma4uv",
    "gemma4ua",
    "glm4v",
    "soprano",
    "lfm3vl",
    "lfm3vl-wide",
    "lightonocr",
    "lightonocr-single",
    "paddleocr",
    "paddleocr-odd",
    "dots_ocr",
    "phi4",
    "phi4-odd",
    "janus_pro",
    "janus_pro-odd",
    "kimivl",
    "kimivl-odd",
    "minicpmv",
    "minicpmv-odd",
    "minicpmv-once",
    "minicpmv47",
    "minicpmv47-odd",
    "hunyuanvl",
    "hunyuanvl-odd",
    "lfm2a",
    "lfm3a",
    "meralion",
    "musicflamingo",
    "glma",
    "mlp",
    "mlp-tiled",
    "mlp-norm",
    "resampler",
    "resampler-odd",
    "deepseekocr",
    "deepseekocr-odd",
    "granite4_vision",
    "granite4_vision-odd",
    "granite_speech",
    "granite_speech-taken",
    "parakeet",
    "parakeet-odd",
    "voxtral_rt",
    "voxtral_rt-odd",
];

fn open(name: &str) -> Gguf {
    let file = format!("{}/tests/fixtures/encoders/{name}.gguf", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(file).expect("a fixture");
    HeaderReader::new(Some(bytes.len() as u64)).push(&bytes).expect("a header").expect("a whole one")
}

fn config(gguf: &Gguf) -> webgguf::Result<ModelConfig> {
    webgguf::model::config(gguf)
}

/// The header with another value, or without.
fn with(name: &str, key: &str, value: Option<Value>) -> webgguf::Result<ModelConfig> {
    let mut gguf = open(name);
    let kept = |found: &&str| *found != key;
    let pairs = gguf.metadata.keys().filter(kept).map(|key| (key.to_owned(), gguf.metadata.get(key).cloned().unwrap()));
    let mut metadata: Metadata = pairs.collect();
    value.into_iter().for_each(|value| drop(metadata.insert(key, value)));
    gguf.metadata = metadata;
    config(&gguf)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: webgguf::Result<T>, code: ErrorCode, part: &str) {
    let error = result.expect_err("must be refused");
    assert!(error.code() == code && error.message().contains(part), "{part:?} is not in {error}");
}

#[test]
fn every_fixture_has_the_tensors_of_its_program() {
    for name in NAMES {
        let mut gguf = open(name);
        let config = config(&gguf).expect(name);
        flatten(&mut gguf);
        let matched = match_tensors(&config, &gguf.tensors).expect(name);
        let used: std::collections::BTreeSet<usize> = matched.iter().map(|(index, _)| *index).collect();
        let unused: Vec<&str> = (0..gguf.tensors.len())
            .filter(|index| !used.contains(index))
            .map(|i| gguf.tensors[i].name.as_str())
            .collect();
        // llama.cpp reads only the width of LFM2-Audio's table, which has embeddings of codes; LLaVA's projector takes
        // the rows before the last layer, or before those that the file names.
        let depth = config.encoder.as_ref().map_or(0, |encoder| encoder.depth);
        let of_layer = |name: &str| name.strip_prefix("v.blk.")?.split('.').next()?.parse::<usize>().ok();
        let is_expected = |tensor: &str| match name {
            "lfm2a" => tensor == "a.position_embd.weight",
            // The embeddings of the tokens around slices, which the text model has, too.
            "minicpmv47" | "minicpmv47-odd" => tensor == "v.tok_embd_sep",
            "granite4_vision" | "granite4_vision-odd" => {
                tensor.starts_with("v.post_ln.") || of_layer(tensor).is_some_and(|layer| layer >= depth)
            }
            "resampler" | "resampler-odd" => tensor == "resampler.pos_embed_k",
            // Their values are those that NeMo computes; and llama.cpp asks for parts of an encoder of images.
            "parakeet" | "parakeet-odd" => {
                ["a.mel_filters", "a.window"].contains(&tensor) || tensor.starts_with("mm.model.mlp.")
            }
            "mlp" | "mlp-norm" => of_layer(tensor).is_some_and(|layer| layer >= depth),
            _ => false,
        };
        assert!(unused.iter().all(|tensor| is_expected(tensor)), "{name}: {unused:?}");
        let with_others = [
            "granite4_vision",
            "granite4_vision-odd",
            "lfm2a",
            "minicpmv47",
            "minicpmv47-odd",
            "mlp",
            "mlp-norm",
            "parakeet",
            "parakeet-odd",
            "resampler",
            "resampler-odd",
        ];
        assert_eq!(unused.is_empty(), !with_others.contains(&name), "{name}");
    }
}

#[test]
fn hostile_numbers_are_refused() {
    let key = |key: &str| format!("clip.vision.{key}");
    for (name, wrong, part) in [
        ("patch_size", Value::U32(0), "patch_size"),
        ("patch_size", Value::U32(25), "patch_size"),
        ("image_size", Value::U32(u32::MAX), "image_size"),
        ("image_size", Value::U32(4096), "patches of an image"),
        ("attention.head_count", Value::U32(0), "head"),
        ("attention.head_count", Value::U32(7), "divide"),
        ("block_count", Value::U32(4_000_000), "block_count"),
        ("image_std", Value::Array(Array::F32(vec![1.0, 0.0, 1.0])), "image_std"),
        ("image_mean", Value::Array(Array::F32(vec![f32::NAN, 0.0, 1.0])), "image_mean"),
        ("image_mean", Value::Array(Array::F32(vec![0.0])), "image_mean"),
        ("projector.scale_factor", Value::U32(0), "scale_factor"),
    ] {
        refused(with("gemma3", &key(name), Some(wrong)), BadFile, part);
    }
    refused(with("qwen2vl", &key("attention.head_count"), Some(Value::U32(18))), BadFile, "multiple of 4");
    let lanczos = Some(Value::String("lanczos".into()));
    refused(with("lfm3vl", &key("image_resize_algo"), lanczos), UnsupportedArchitecture, "bilinear or bicubic");
    refused(with("lfm3vl", &key("image_resize_algo"), None), UnsupportedArchitecture, "bilinear or bicubic");
    refused(with("lfm3vl", &key("image_min_pixels"), None), BadFile, "image_min_pixels` is missing");
    refused(with("paddleocr", &key("image_max_pixels"), Some(Value::U32(u32::MAX))), BadFile, "image_max_pixels");
    refused(with("hunyuanvl", &key("image_max_pixels"), Some(Value::U32(u32::MAX))), BadFile, "image_max_pixels");
    let pixels = with("hunyuanvl", &key("image_min_pixels"), None).expect("a number that has a default");
    assert_eq!(pixels.encoder.map(|encoder| encoder.pixels), Some([256 * 64, 5000]));
    refused(with("minicpmv", &key("projector.scale_factor"), Some(Value::U32(3))), BadFile, "expected 2 or 4, found 3");
    for layer in [-1, 4, i32::MAX] {
        let layers = Some(Value::Array(Array::I32(vec![layer])));
        refused(with("minicpmv-odd", &key("wa_layer_indexes"), layers), BadFile, "expected a layer below 4");
    }
    refused(with("gemma3", &key("projection_dim"), None), BadFile, "projection_dim");
    refused(with("gemma3", "clip.use_silu", Some(Value::Bool(true))), BadFile, "both");
    let other = Some(Value::String("adaptor".into()));
    refused(with("gemma3", "clip.projector_type", other), UnsupportedArchitecture, "adaptor");
    refused(with("gemma3", "clip.has_vision_encoder", None), UnsupportedArchitecture, "without images");
}

#[test]
fn hostile_numbers_of_llava_are_refused() {
    let refused = |key: &str, wrong: Vec<i32>, part: &str| {
        let result = with("mlp-tiled", &format!("clip.vision.{key}"), Some(Value::Array(Array::I32(wrong))));
        refused(result, BadFile, part);
    };
    refused("feature_layer", vec![-1], "expected layers up to 3, found -1");
    refused("feature_layer", vec![2, 4], "expected layers up to 3, found 4");
    refused("feature_layer", vec![1; 9], "expected up to 8 layers, found 9");
    refused("image_grid_pinpoints", vec![35, 70, 35], "found 3 numbers");
    for (width, height) in [(0, 35), (35, -35), (35, 36), (35, 1 << 20), (35 * 16, 35 * 17)] {
        let found = format!("of up to 256 tiles of 35 × 35 pixels, found {width} × {height}");
        refused("image_grid_pinpoints", vec![35, 70, width, height], &found);
    }
    let one = with("mlp", "clip.vision.block_count", Some(Value::U32(1))).expect("a layer that is not run");
    assert_eq!(one.encoder.map(|encoder| encoder.depth), Some(0));
}

#[test]
fn hostile_numbers_of_deepseek_ocr_are_refused() {
    let refused_key = |key: &str, wrong: u32, part: &str| {
        refused(with("deepseekocr", &format!("clip.vision.{key}"), Some(Value::U32(wrong))), BadFile, part);
    };
    refused_key("sam.block_count", 0, "sam.block_count");
    refused_key("sam.block_count", 65, "sam.block_count");
    refused_key("sam.head_count", 5, "24 elements do not divide among 5 heads");
    refused_key("sam.head_count", 0, "head_count");
    refused_key("window_size", 0, "window_size");
    refused_key("window_size", 129, "window_size");
    let mut gguf = open("deepseekocr");
    let table = |gguf: &mut Gguf, name: &str, dims: &[u64]| {
        gguf.tensors.iter_mut().find(|tensor| tensor.name == name).expect("a tensor").dims = dims.to_vec();
    };
    table(&mut gguf, "v.sam.pos_embd.weight", &[24, 33, 33]);
    refused(config(&gguf), BadFile, "expected 1024 or 4096 positions, found 1089");
    table(&mut gguf, "v.sam.pos_embd.weight", &[24, 64, 64]);
    let large = config(&gguf).expect("another side").encoder.expect("an encoder");
    assert_eq!((large.image_size, large.tiled.len(), large.tiled[0]), (256, 22, [160, 320]));
    table(&mut gguf, "v.sam.patch_embd.weight", &[65, 65, 3, 24]);
    refused(config(&gguf), BadFile, "expected squares of up to 64 × 64, found 4225");
}

#[test]
fn hostile_shapes_of_blocks_are_refused() {
    let refused_shape = |name: &str, dims: &[u64], part: &str| {
        let mut gguf = open("gemma3nv");
        gguf.tensors.iter_mut().find(|tensor| tensor.name == name).expect("a tensor").dims = dims.to_vec();
        flatten(&mut gguf);
        refused(config(&gguf).and_then(|config| match_tensors(&config, &gguf.tensors).map(drop)), BadFile, part);
    };
    refused_shape("v.blk.1.0.dw_mid.conv.weight", &[4, 4, 1, 15], "a square of an odd number of cells, found 16");
    refused_shape("v.blk.1.0.dw_mid.conv.weight", &[5, 3, 1, 15], "a square of an odd number of cells, found 15");
    refused_shape("v.blk.1.0.dw_mid.conv.weight", &[u64::MAX, 5, 1, 15], "a square of an odd number of cells");
    refused_shape("v.blk.1.0.pw_exp.conv.weight", &[1, 1, 9, u64::MAX], "pw_exp.conv.weight: expected 1 to");
    refused_shape("v.blk.1.0.pw_exp.conv.weight", &[1, 1, 9, 0], "pw_exp.conv.weight: expected 1 to");
    refused_shape("v.blk.1.0.pw_exp.conv.weight", &[1, 1, 8, 15], "expected shape [9, 15], found [8, 15]");
    refused_shape(
        "v.blk.2.1.attn.key.proj.weight",
        &[1, 1, 12, 5],
        "attn.query.proj.weight: expected shape [12, 20], found [12, 18]",
    );
    refused_shape(
        "v.blk.2.1.attn.value.down_conv.weight",
        &[5, 5, 1, 12],
        "attn.key.down_conv.weight: expected shape [25, 12], found [9, 12]",
    );
    refused_shape(
        "v.msfa.ffn.pw_proj.conv.weight",
        &[1, 1, 31, 23],
        "v.msfa.ffn.pw_proj.bn.weight: expected shape [23], found [22]",
    );
    let sized = |pixels: u32| with("gemma3nv", "clip.vision.image_size", Some(Value::U32(pixels)));
    refused(
        sized(8192),
        BadFile,
        "grids up to 255 cells a side, the last multiples of each other and of 16, found 2048, 2048, 512, 256",
    );
    refused(sized(1024), BadFile, "found 256, 256, 64, 32");
    refused(sized(528), BadFile, "found 132, 132, 33, 17");
    refused(sized(384), BadFile, "found 96, 96, 24, 12");
    let small = sized(128).expect("as many rows as there are cells").encoder.expect("an encoder");
    assert_eq!((small.queries, sized(768).expect("a multiple of 16").encoder.expect("one").queries), (64, 256));
}

#[test]
fn hostile_numbers_of_granite_vision_are_refused() {
    let refused = |key: &str, wrong: Value, part: &str| {
        refused(with("granite4_vision", &format!("clip.vision.{key}"), Some(wrong)), BadFile, part);
    };
    let list = |numbers: &[i32]| Value::Array(Array::I32(numbers.to_vec()));
    refused("embedding_length", Value::U32(72), "expected a multiple of 64, found 72");
    refused("projector.window_side", Value::U32(3), "expected a divisor of 8 patches, found 3");
    refused("projector.query_side", Value::U32(3), "expected a divisor of 4, found 3");
    refused("projector.query_side", Value::U32(5), "query_side");
    refused("image_grid_pinpoints", list(&[]), "expected a size of tiles, found none");
    refused("feature_layer", list(&[]), "expected 1 to 9 layers, found 0");
    refused("feature_layer", list(&[1; 10]), "expected 1 to 9 layers, found 10");
    refused("feature_layer", list(&[2, 2, 0, 1, 3]), "expected layers below 3, found 3");
    refused("feature_layer", list(&[2, 2, 0, 1, -1]), "expected layers below 3, found -1");
    refused("projector.spatial_offsets", list(&[-1; 4]), "expected 5 numbers, found 4");
    refused("projector.spatial_offsets", list(&[-1, 0, 4, 1, 2]), "expected numbers up to 3, found 4");
    // Only of 2 × 2 patches one is taken.
    refused("projector.query_side", Value::U32(1), "expected numbers up to -1, found 0");
}

#[test]
fn hostile_numbers_of_a_resampler_are_refused() {
    let width = Some(Value::U32(200));
    refused(with("resampler", "clip.vision.projection_dim", width), BadFile, "expected a multiple of 128, found 200");
    for (version, found) in [(None, "found 2"), (Some(Value::I32(2)), "found 2"), (Some(Value::I32(7)), "found 7")] {
        refused(with("resampler", "clip.minicpmv_version", version), UnsupportedArchitecture, found);
    }
    for count in [0, 1 << 13, u64::MAX] {
        let mut gguf = open("resampler");
        let query = gguf.tensors.iter_mut().find(|tensor| tensor.name == "resampler.query").expect("queries");
        query.dims[1] = count;
        refused(config(&gguf), BadFile, "expected 1 to 4096 queries");
    }
}

#[test]
fn hostile_numbers_of_blocks_and_windows_are_refused() {
    let key = |key: &str| format!("clip.audio.{key}");
    for (name, wrong, part) in [
        ("chunk_size", None, "chunk_size` is missing"),
        ("chunk_size", Some(0), "chunk_size"),
        ("chunk_size", Some(11), "chunk_size`: expected 1 to 10, found 11"),
        ("max_pos_emb", Some(u32::MAX), "max_pos_emb"),
        ("projector.window_size", Some(0), "window_size"),
        ("projector.window_size", Some(17), "window_size"),
        ("projector.downsample_rate", Some(6), "downsample_rate`: expected 1 to 5, found 6"),
        ("projector.downsample_rate", None, "downsample_rate` is missing"),
        ("projector.head_count", Some(5), "36 elements do not divide among 5 heads"),
        ("projector.head_count", Some(0), "head_count"),
    ] {
        refused(with("granite_speech", &key(name), wrong.map(Value::U32)), BadFile, part);
    }
    let layers = Some(Value::Array(Array::I32(vec![0, 5])));
    refused(with("granite_speech-taken", &key("feature_layer"), layers), BadFile, "expected layers up to 4, found 5");
    // A table of distances has as many rows as the file says.
    let far = with("granite_speech", &key("max_pos_emb"), Some(Value::U32(10))).expect("a number");
    refused(match_tensors(&far, &open("granite_speech").tensors), BadFile, "attn_rel_pos_emb");
}

#[test]
fn parakeet_leaves_one_of_eight_frames() {
    let key = "clip.audio.subsampling_factor";
    refused(with("parakeet", key, Some(Value::U32(4))), UnsupportedArchitecture, "expected 8, found 4");
    refused(with("parakeet", key, None), BadFile, "subsampling_factor` is missing");
}

#[test]
fn a_row_of_voxtral_realtime_sees_a_window() {
    let key = "clip.audio.window_size";
    refused(with("voxtral_rt", key, None), BadFile, "window_size` is missing");
    refused(with("voxtral_rt", key, Some(Value::U32(0))), BadFile, "window_size");
    let merge = Some(Value::U32(3));
    let wrong = with("voxtral_rt", "clip.audio.projector.stack_factor", merge).expect("a number");
    let mut gguf = open("voxtral_rt");
    flatten(&mut gguf);
    refused(match_tensors(&wrong, &gguf.tensors), BadFile, "mm.a.mlp.1.weight");
}

#[test]
fn missing_tensors_are_named() {
    for (name, missing) in [
        ("mlp", "mm.0.weight"),
        ("mlp-norm", "mm.4.weight"),
        ("glma", "v.eoi"),
        ("resampler", "resampler.query"),
        ("resampler", "resampler.attn.k.weight"),
        ("resampler", "resampler.ln_post.weight"),
        ("granite_speech", "a.blk.1.attn_rel_pos_emb"),
        ("granite_speech", "a.enc_ctc_out_mid.weight"),
        ("granite_speech", "a.proj_query"),
        ("granite_speech-taken", "a.proj_blk.1.cross_attn_v.bias"),
        ("deepseekocr", "v.view_seperator"),
        ("deepseekocr", "v.sam.blk.1.attn.pos_w.weight"),
        ("deepseekocr", "v.sam.blk.0.attn.qkv.bias"),
        ("granite4_vision", "v.image_newline"),
        ("granite4_vision", "v.proj_blk.4.img_pos"),
        ("granite4_vision", "v.proj_blk.3.cross_attn_k.bias"),
        ("gemma3nv", "v.conv_stem.conv.weight"),
        ("gemma3nv", "v.blk.0.1.conv_pwl.weight"),
        ("gemma3nv", "v.blk.2.1.attn.output.proj.weight"),
        ("gemma3nv", "mm.soft_emb_norm.weight"),
        ("parakeet", "a.blk.1.conv_norm_var"),
        ("parakeet", "mm.a.norm_pre.weight"),
        ("voxtral_rt", "a.conv1d.2.weight"),
        ("voxtral_rt", "mm.a.mlp.2.weight"),
    ] {
        let mut gguf = open(name);
        gguf.tensors.retain(|tensor| tensor.name != missing);
        flatten(&mut gguf);
        let result = config(&gguf).and_then(|config| match_tensors(&config, &gguf.tensors).map(drop));
        refused(result, BadFile, missing);
    }
}

#[test]
fn hostile_numbers_of_a_vocoder_are_refused() {
    let key = |key: &str| format!("clip.gen.audio.{key}");
    for (name, wrong, part) in [
        ("projection_dim", Some(Value::U32(31)), "a.gen.wav.input.weight: expected a kernel of 1, 3, 5 or 7"),
        ("projection_dim", Some(Value::U32(u32::MAX)), "projection_dim"),
        ("embedding_length", Some(Value::U32(16)), "found 6"),
        ("embedding_length", None, "embedding_length"),
        ("block_count", Some(Value::U32(4_000_000)), "block_count"),
    ] {
        refused(with("soprano", &key(name), wrong), BadFile, part);
    }
    // Blocks have no attention, whatever a file says of heads.
    let config = with("soprano", &key("attention.head_count"), None).expect("no heads");
    assert_eq!(config.encoder.map(|encoder| (encoder.kernels, encoder.merge, encoder.width)), Some(([3, 3], 3, 1026)));
    let blocks = with("soprano", &key("block_count"), Some(Value::U32(3))).expect("a number of blocks");
    refused(match_tensors(&blocks, &open("soprano").tensors), BadFile, "a.gen.wav.");
    refused(with("soprano", "clip.has_gen_audio_encoder", None), UnsupportedArchitecture, "without images");
}

#[test]
fn old_files_have_the_names_of_the_feed_forward_swapped() {
    let mut gguf = open("gemma3");
    for tensor in &mut gguf.tensors {
        let other = if tensor.name.contains("ffn_up") { ["ffn_up", "ffn_down"] } else { ["ffn_down", "ffn_up"] };
        tensor.name = tensor.name.replace(other[0], other[1]);
    }
    let config = config(&gguf).expect("an old file");
    assert!(config.encoder.as_ref().is_some_and(|encoder| encoder.is_swapped && encoder.ffn == 50));
    flatten(&mut gguf);
    match_tensors(&config, &gguf.tensors).expect("its tensors");
}

#[test]
fn inputs_are_checked_against_the_program() {
    let program = program(&config(&open("gemma3")).expect("a fixture"));
    let input = EncoderInput {
        rows: 4,
        outputs: 1,
        patches: vec![0.0; 4 * 48],
        places: [vec![0; 4], vec![0; 4]],
        groups: [vec![0, 1, 2, 3], vec![1.0_f32.to_bits(); 4]],
        ..EncoderInput::default()
    };
    input.check(&program, 36).expect("a small image");
    refused(input.check(&program, 3), ErrorCode::InvalidArgument, "4 patches, expected 1 to 3");
    let short = EncoderInput { patches: vec![0.0; 5], ..input.clone() };
    refused(short.check(&program, 36), ErrorCode::InvalidArgument, "expected 192, found 5");
    let outside = EncoderInput { groups: [vec![0, 1, 2, 4], input.groups[1].clone()], ..input.clone() };
    refused(outside.check(&program, 36), ErrorCode::InvalidArgument, "outside of 4 rows");
    let unread = EncoderInput { groups: [vec![0, 1, 2, 4], vec![0; 4]], ..input };
    unread.check(&program, 36).expect("taps of weight 0 read nothing");
}

#[test]
fn kernels_of_convolutions_are_rounded() {
    let tensor = |name: &str| TensorInfo { name: name.into(), ..open("gemma3").tensors[0].clone() };
    let bytes = 0.1_f32.to_le_bytes();
    let kernel = TensorInfo { ty: GgmlType::F32, ..tensor("v.patch_embd.weight") };
    assert_eq!(*rounded_kernel(true, &kernel, &bytes), half::f16::from_f32(0.1).to_f32().to_le_bytes());
    let other = TensorInfo { ty: GgmlType::F32, ..tensor("v.position_embd.weight") };
    assert_eq!(*rounded_kernel(true, &other, &bytes), bytes);
    let [rounds, bare] = ["gemma3", "gemma4uv"].map(|name| config(&open(name)).expect("a fixture").rounds_kernels());
    assert!(rounds && !bare, "without layers there is no convolution");
}

#[test]
fn hostile_numbers_of_encoders_of_sounds_are_refused() {
    let key = |key: &str| format!("clip.audio.{key}");
    for (name, wrong, part) in [
        ("num_mel_bins", Value::U32(0), "num_mel_bins"),
        ("num_mel_bins", Value::U32(1 << 20), "num_mel_bins"),
        ("attention.head_count", Value::U32(0), "head"),
        ("projector.stack_factor", Value::U32(0), "stack_factor"),
        ("block_count", Value::U32(4_000_000), "block_count"),
    ] {
        refused(with("ultravox", &key(name), Some(wrong)), BadFile, part);
    }
    refused(with("ultravox", &key("projection_dim"), None), BadFile, "projection_dim");
    refused(with("ultravox", &key("num_mel_bins"), None), BadFile, "num_mel_bins");
    let other = |name: &str| Some(Value::String(name.into()));
    refused(with("ultravox", "clip.projector_type", other("gemma3")), UnsupportedArchitecture, "gemma3");
    refused(with("gemma3", "clip.projector_type", other("ultravox")), UnsupportedArchitecture, "ultravox");
    for wrong in [None, Some(Value::U32(0)), Some(Value::U32(1 << 20))] {
        refused(with("lfm3a", &key("window_size"), wrong), BadFile, "window_size");
    }
    refused(with("lfm3a", &key("attention.head_count"), Some(Value::U32(16))), BadFile, "multiple of 4");
    // Qwen2.5-Omni has one name for both.
    let omni = with("qwen2a", "clip.projector_type", other("qwen2.5o")).expect("its encoder of sounds");
    assert_eq!(omni.encoder.expect("an encoder").projector.name, "qwen2a");
}

#[test]
fn a_convolution_along_the_rows_is_as_long_as_its_tensor() {
    for (length, part) in [(17, "2 to 16, found 17"), (1 << 20, "found")] {
        let mut gguf = open("lfm2a");
        for tensor in gguf.tensors.iter_mut().filter(|tensor| tensor.name.ends_with("conv_dw.weight")) {
            tensor.dims[0] = length;
        }
        let result = config(&gguf).and_then(|config| match_tensors(&config, &gguf.tensors).map(drop));
        refused(result, BadFile, part);
    }
    let lengths = ["lfm2a", "lfm3a"].map(|name| config(&open(name)).expect(name).encoder.expect("an encoder").kernels);
    assert_eq!(lengths, [[0, 9], [0, 4]]);
}

#[test]
fn rows_of_convolutions_are_checked_against_the_program() {
    let program = program(&config(&open("qwen2a")).expect("a fixture"));
    let taps = |count: u32| [(0..count).collect(), vec![1.0_f32.to_bits(); count as usize]];
    let input = EncoderInput {
        rows: 2,
        outputs: 1,
        patches: vec![0.0; 4 * 120],
        places: taps(2),
        groups: taps(2),
        folds: vec![Fold { rows: 4, taps: [vec![9, 0, 1, 1, 2, 3], [vec![0], vec![1.0_f32.to_bits(); 5]].concat()] }],
        ..EncoderInput::default()
    };
    input.check(&program, 1500).expect("four frames");
    refused(input.check(&program, 1), ErrorCode::InvalidArgument, "2 patches, expected 1 to 1");
    let many = EncoderInput { folds: vec![Fold { rows: 3001, ..Fold::default() }], ..input.clone() };
    refused(many.check(&program, 1500), ErrorCode::InvalidArgument, "3001 patches, expected 1 to 3000");
    let of = |fold: Fold| EncoderInput { folds: vec![fold], ..input.clone() };
    let fold = input.folds[0].clone();
    let outside = of(Fold { rows: 4, taps: [vec![0, 0, 1, 1, 2, 4], vec![1.0_f32.to_bits(); 6]] });
    refused(outside.check(&program, 1500), ErrorCode::InvalidArgument, "outside of 4 rows");
    let fewer = of(Fold { taps: taps(3), ..fold.clone() });
    refused(fewer.check(&program, 1500), ErrorCode::InvalidArgument, "expected 6, found 3");
    let none = EncoderInput { folds: vec![], patches: vec![0.0; 2 * 120], ..input.clone() };
    refused(none.check(&program, 1500), ErrorCode::InvalidArgument, "expected 1, found 0");
    let other = of(Fold { rows: 5, ..fold });
    refused(other.check(&program, 1500), ErrorCode::InvalidArgument, "expected 600, found 480");
}

#[test]
fn of_a_file_with_both_encoders_either_is_read() {
    let (mut both, sounds) = (open("qwen2vl"), open("qwen2a"));
    for key in sounds.metadata.keys().filter(|key| key.starts_with("clip.")) {
        both.metadata.insert(key, sounds.metadata.get(key).cloned().expect("a value"));
    }
    both.metadata.insert("clip.projector_type", Value::String("qwen2.5o".into()));
    both.metadata.insert("clip.vision.projector_type", Value::String("qwen2vl_merger".into()));
    both.tensors.extend(sounds.tensors);
    flatten(&mut both);
    for (has_images, projector) in [(true, "qwen2vl_merger"), (false, "qwen2a")] {
        both.metadata.insert("clip.has_vision_encoder", Value::Bool(has_images));
        let config = config(&both).expect(projector);
        let matched = match_tensors(&config, &both.tensors).expect(projector);
        assert_eq!(config.encoder.as_ref().map(|encoder| encoder.projector.name), Some(projector));
        let begins = if has_images { ["v.", "mm."] } else { ["a.", "mm.a."] };
        let is_own = |(index, _): &(usize, _)| begins.iter().any(|begin| both.tensors[*index].name.starts_with(begin));
        assert!(matched.iter().all(is_own), "{projector}");
    }
}

/// What prefill rounds goes through one buffer, which is as wide as the widest row that a product rounds.
#[test]
fn rounded_rows_have_room() {
    let rows = 32;
    let mut rounded = 0;
    for name in NAMES {
        let mut gguf = open(name);
        let config = config(&gguf).expect("a fixture");
        flatten(&mut gguf);
        let program = program(&config);
        for format in [ActivationFormat::F16(MatrixShape::ALL[0]), ActivationFormat::Int8] {
            let caps = Caps { activation_format: format, ..Caps::baseline() };
            let mut plan = Plan::default();
            let matched = match_tensors(&config, &gguf.tensors).expect("its tensors");
            let weights = place(&program, &caps, &gguf.tensors, matched, &mut plan).expect("room").weights;
            let buffers = Buffers::for_batches(&program, rows, &mut plan);
            let lists = Forward::new(&program, &caps, &weights, &buffers).batch_lists(rows);
            for dispatch in lists.all().filter(|dispatch| dispatch.kernel.spec.kernel_name == "round_f16") {
                let cols = dispatch.kernel.constants.iter().find(|(key, _)| *key == "COLS").expect("a width").1 as u64;
                let cols = cols.next_multiple_of(32);
                let found = plan.buffers[dispatch.buffers[1].buffer.0 as usize].bytes;
                assert!(found >= rows as u64 * cols * 2, "{name}: {found} bytes for {rows} rows of {cols}");
                rounded += 1;
            }
        }
    }
    assert!(rounded > 5, "{rounded} roundings");
}

#[test]
fn a_check_of_kernels_runs_few_rows_through_all_lists() {
    for name in NAMES {
        let mut gguf = open(name);
        let config = config(&gguf).expect(name);
        flatten(&mut gguf);
        let matched = match_tensors(&config, &gguf.tensors).expect(name);
        let program = program(&config);
        for rows in [1, 3, 20] {
            EncoderInput::sample(&program, rows).check(&program, rows).expect(name);
        }
        let mut plan = Plan::default();
        let caps = Caps::baseline();
        let weights = place(&program, &caps, &gguf.tensors, matched, &mut plan).expect(name).weights;
        let buffers = Buffers::for_batches(&program, 32, &mut plan);
        let forward = Forward::new(&program, &caps, &weights, &buffers);
        let (lists, traced) = (forward.batch_lists(32), forward.traced_batch(32));
        let keys = traced.iter().flat_map(|step| &step.dispatches).map(|dispatch| dispatch.kernel.key());
        assert!(lists.all().map(|dispatch| dispatch.kernel.key()).eq(keys), "{name}: other dispatches");
        let ops = traced.iter().flat_map(|step| step.ops.clone());
        assert!(ops.eq(0..program.ops().count()), "{name}: operations are missing");
        let last = traced.last().expect("a step");
        assert!(last.results.iter().any(|(of, _)| *of == program.output_activation()), "{name}: the rows");
        for side in &program.sides {
            assert!(traced.iter().any(|step| step.results.iter().any(|(of, _)| of == side)), "{name}: deeper rows");
        }
    }
}
