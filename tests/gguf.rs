//! The GGUF reader: right files in any pieces, wrong files with the right words, blocks against the `gguf` Python
//! package.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu_clock.rs"]
mod cpu_clock;
#[path = "common/gguf_writer.rs"]
mod gguf_writer;

use std::path::Path;

use cpu_clock::CpuClock;
use gguf_writer::{GgufWriter, array_bytes, string};
use webgguf::gguf::{
    Array, GgmlType, Gguf, HEADER_CAP, HeaderReader, Strings, Value, dequantize, f16_from_f32, f16_to_f32, row_bytes,
};
use webgguf::{Error, ErrorCode};

// Helpers

/// Reads a file in pieces of `piece` bytes, told its size or not.
fn read_in(bytes: &[u8], piece: usize, size: Option<u64>) -> Result<Gguf, Error> {
    let mut reader = HeaderReader::new(size);
    for piece in bytes.chunks(piece) {
        if let Some(gguf) = reader.push(piece)? {
            return Ok(gguf);
        }
    }
    Err(reader.finish())
}

/// Reads a file in several ways, which must all agree.
fn read(bytes: &[u8]) -> Result<Gguf, Error> {
    let whole = read_in(bytes, usize::MAX, Some(bytes.len() as u64));
    for piece in [1, 2, 3, 7, 64] {
        assert_eq!(read_in(bytes, piece, Some(bytes.len() as u64)), whole, "in pieces of {piece}");
    }
    whole
}

fn expect_error(bytes: &[u8], code: ErrorCode, words: &[&str]) {
    check_error(read(bytes).expect_err("this file is wrong"), code, words);
}

fn expect_bad_file(bytes: &[u8], words: &[&str]) {
    expect_error(bytes, ErrorCode::BadFile, words);
}

/// The message must hold all the words, and be in the house's form.
fn check_error(error: Error, code: ErrorCode, words: &[&str]) {
    assert_eq!(error.code(), code, "{error}");
    for word in words {
        assert!(error.message().contains(word), "`{word}` is not in: {}", error.message());
    }
    assert!(!error.message().ends_with('.'), "{error}");
    assert!(error.message().len() < 700, "{error}");
}

fn text(value: &str) -> Value {
    Value::String(value.into())
}

fn strings(list: &[&str]) -> Value {
    Value::Array(Array::Strings(list.iter().collect()))
}

/// A small file with a bit of everything.
fn sample() -> GgufWriter {
    GgufWriter::new()
        .pair("general.architecture", text("llama"))
        .pair("llama.block_count", Value::U32(2))
        .pair("tokenizer.ggml.tokens", strings(&["<s>", "", "hello", "Ġworld"]))
        .pair("tokenizer.ggml.scores", Value::Array(Array::F32(vec![0.0, -1.5, f32::MIN_POSITIVE, 3.0])))
        .zeros("token_embd.weight", GgmlType::Q8_0, &[64, 4])
        .zeros("output_norm.weight", GgmlType::F32, &[7])
        .zeros("blk.0.ffn_up.weight", GgmlType::Q4_K, &[256, 3, 1, 2])
}

// Right files

#[test]
fn reads_a_small_file() {
    let writer = sample();
    let bytes = writer.build();
    let gguf = read(&bytes).unwrap();
    assert_eq!((gguf.version, gguf.alignment), (3, 32));
    assert_eq!(gguf.header_bytes, (writer.header().len() as u64).next_multiple_of(32));
    assert_eq!(gguf.metadata.str("general.architecture").unwrap(), Some("llama"));
    let names: Vec<&str> = gguf.tensors.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["token_embd.weight", "output_norm.weight", "blk.0.ffn_up.weight"]);
    let sizes: Vec<u64> = gguf.tensors.iter().map(|t| t.bytes).collect();
    assert_eq!(sizes, [34 * 2 * 4, 28, 144 * 6]);
    let offsets: Vec<u64> = gguf.tensors.iter().map(|t| t.offset - gguf.header_bytes).collect();
    assert_eq!(offsets, [0, 288, 320]);
    assert_eq!(gguf.tensors[2].dims, [256, 3, 1, 2]);
    assert_eq!((gguf.tensors[2].elements(), gguf.tensors[2].end()), (1536, bytes.len() as u64));
    assert_eq!(gguf.data_end(0), bytes.len() as u64);
}

#[test]
fn reads_version_2() {
    let writer = GgufWriter { version: 2, ..sample() };
    let gguf = read(&writer.build()).unwrap();
    assert_eq!(gguf.version, 2);
    assert_eq!(gguf.metadata, read(&sample().build()).unwrap().metadata);
}

#[test]
fn every_value_type_survives() {
    let nested = Array::Arrays(vec![
        Array::U8(vec![1, 2]),
        Array::Arrays(vec![Array::Strings(["a", ""].iter().collect()), Array::Arrays(vec![])]),
        Array::F64(vec![]),
    ]);
    let values = [
        Value::U8(200),
        Value::I8(-100),
        Value::U16(60_000),
        Value::I16(-30_000),
        Value::U32(4_000_000_000),
        Value::I32(-2_000_000_000),
        Value::F32(1.5e-40),
        Value::Bool(true),
        Value::Bool(false),
        text("grüße, 世界"),
        text(""),
        Value::U64(u64::MAX),
        Value::I64(i64::MIN),
        Value::F64(1e300),
        Value::Array(Array::U8(vec![0, 255])),
        Value::Array(Array::I8(vec![-128, 127])),
        Value::Array(Array::U16((0..40_000).collect())),
        Value::Array(Array::I16(vec![-1])),
        Value::Array(Array::U32(vec![u32::MAX])),
        Value::Array(Array::I32(vec![i32::MIN, 0, 1])),
        Value::Array(Array::F32(vec![f32::INFINITY, -0.0])),
        Value::Array(Array::Bool(vec![true, false, true])),
        strings(&["", "a", ""]),
        Value::Array(Array::U64(vec![1 << 63])),
        Value::Array(Array::I64(vec![])),
        Value::Array(Array::F64(vec![0.1])),
        Value::Array(nested),
    ];
    let mut writer = GgufWriter::new();
    for (i, value) in values.iter().enumerate() {
        writer = writer.pair(&format!("key.{i:02}"), value.clone());
    }
    let gguf = read(&writer.build()).unwrap();
    assert_eq!(gguf.metadata.len(), values.len());
    for (i, value) in values.iter().enumerate() {
        assert_eq!(gguf.metadata.get(&format!("key.{i:02}")), Some(value));
    }
    assert_eq!(gguf.metadata.keys().nth(1), Some("key.01"));
}

#[test]
fn typed_getters_convert_or_name_both_types() {
    let bytes = GgufWriter::new()
        .pair("i8", Value::I8(5))
        .pair("negative", Value::I32(-7))
        .pair("u16", Value::U16(9))
        .pair("f64", Value::F64(0.5))
        .pair("bool", Value::Bool(true))
        .pair("text", text("x"))
        .pair("tokens", strings(&["a", "b"]))
        .pair("u32s", Value::Array(Array::U32(vec![1, 2])))
        .pair("too big", Value::Array(Array::U32(vec![1, u32::MAX])))
        .pair("f64s", Value::Array(Array::F64(vec![0.25])))
        .build();
    let metadata = read(&bytes).unwrap().metadata;
    assert_eq!(metadata.u64("i8"), Ok(Some(5)));
    assert_eq!(metadata.u64("u16"), Ok(Some(9)));
    assert_eq!(metadata.f32("f64"), Ok(Some(0.5)));
    assert_eq!(metadata.bool("bool"), Ok(Some(true)));
    assert_eq!(metadata.strings("tokens").unwrap().unwrap().get(1), Some(&b"b"[..]));
    assert_eq!(metadata.i32s("u32s"), Ok(Some(vec![1, 2])));
    assert_eq!(metadata.f32s("f64s"), Ok(Some(vec![0.25])));
    assert_eq!(metadata.u64("missing"), Ok(None));
    assert_eq!(metadata.strings("missing"), Ok(None));
    let wrong = |error: Error, words: &[&str]| check_error(error, ErrorCode::BadFile, words);
    wrong(metadata.u64("negative").unwrap_err(), &["`negative`", "unsigned integer", "i32 -7"]);
    wrong(metadata.u64("f64").unwrap_err(), &["`f64`", "unsigned integer", "found f64"]);
    wrong(metadata.f32("text").unwrap_err(), &["`text`", "expected f32", "found string"]);
    wrong(metadata.bool("u16").unwrap_err(), &["`u16`", "expected bool", "found u16"]);
    wrong(metadata.str("tokens").unwrap_err(), &["`tokens`", "expected string", "found array of strings"]);
    wrong(metadata.strings("u32s").unwrap_err(), &["expected array of strings", "found array of u32"]);
    wrong(metadata.i32s("too big").unwrap_err(), &["`too big`", "expected array of i32", "found array of u32"]);
    wrong(metadata.f32s("u32s").unwrap_err(), &["expected array of f32", "found array of u32"]);
}

#[test]
fn strings_are_lossless_bytes() {
    let list: [&[u8]; 4] = [b"", b"\xff\xfe", "é".as_bytes(), b""];
    let tokens: Strings = list.iter().collect();
    assert_eq!(tokens.len(), 4);
    assert_eq!(tokens.iter().collect::<Vec<_>>(), list);
    assert_eq!(
        (0..5).map(|i| tokens.get(i)).collect::<Vec<_>>(),
        [Some(list[0]), Some(list[1]), Some(list[2]), Some(b""), None]
    );
    let bytes = GgufWriter::new()
        .pair("tokens", Value::Array(Array::Strings(tokens.clone())))
        .raw_pair("text", 8, &string(b"a\xffb"))
        .build();
    let metadata = read(&bytes).unwrap().metadata;
    assert_eq!(metadata.strings("tokens"), Ok(Some(&tokens)));
    assert_eq!(metadata.str("text"), Ok(Some("a\u{fffd}b")));
}

#[test]
fn alignment_moves_the_tensor_data() {
    for alignment in [8, 16, 64, 4096] {
        let writer = sample().aligned(alignment);
        let gguf = read(&writer.build()).unwrap();
        assert_eq!(gguf.alignment, u64::from(alignment));
        assert_eq!(gguf.header_bytes, (writer.header().len() as u64).next_multiple_of(alignment.into()));
        assert!(gguf.tensors.iter().all(|t| t.offset % gguf.alignment == 0));
    }
}

#[test]
fn tensors_are_sorted_by_offset_and_may_have_gaps() {
    let mut writer = GgufWriter::new().zeros("b", GgmlType::F32, &[8]).zeros("a", GgmlType::F32, &[8]);
    writer.tensors[0].offset = Some(1024);
    writer.tensors[1].offset = Some(64);
    let mut bytes = writer.build();
    bytes.resize(4096, 0);
    let gguf = read(&bytes).unwrap();
    let found: Vec<_> = gguf.tensors.iter().map(|t| (t.name.as_str(), t.offset - gguf.header_bytes)).collect();
    assert_eq!(found, [("a", 64), ("b", 1024)]);
}

#[test]
fn a_file_without_anything_is_a_gguf() {
    let gguf = read(&GgufWriter::new().build()).unwrap();
    assert!(gguf.metadata.is_empty() && gguf.tensors.is_empty());
    assert_eq!((gguf.header_bytes, gguf.data_end(0)), (32, 0));
}

#[test]
fn the_header_comes_before_its_padding_and_only_once() {
    let writer = sample();
    let header = writer.header();
    let mut reader = HeaderReader::new(None);
    assert_eq!(reader.push(&header[..header.len() - 1]), Ok(None));
    let gguf = reader.push(&header[header.len() - 1..]).unwrap().expect("the header is whole");
    assert!(gguf.header_bytes > header.len() as u64);
    check_error(reader.push(b"x").unwrap_err(), ErrorCode::InvalidArgument, &["after the header"]);
}

#[test]
fn vocabulary_only_stops_after_the_metadata() {
    let mut writer = sample();
    writer.tensors[0].type_id = 23;
    writer.tensor_count = Some(1 << 62);
    let bytes = writer.build();
    let metadata_end = GgufWriter { tensors: vec![], ..writer.clone() }.header().len();
    let mut reader = HeaderReader::new(Some(bytes.len() as u64)).vocabulary_only();
    let gguf = reader.push(&bytes[..metadata_end]).unwrap().expect("the metadata is whole");
    assert_eq!(gguf.metadata.strings("tokenizer.ggml.tokens").unwrap().unwrap().len(), 4);
    assert_eq!((gguf.tensors.len(), gguf.header_bytes), (0, metadata_end as u64));
    assert!(read(&bytes).is_err());
}

// Files that are not what they should be

#[test]
fn says_what_a_foreign_file_looks_like() {
    let html = b"<!DOCTYPE html><html><head><title>404</title></head></html>";
    expect_bad_file(html, &["not a GGUF", "web page"]);
    expect_bad_file(b"\n  <html>\n<body>no such model</body>", &["web page"]);
    expect_bad_file(b"version https://git-lfs.github.com/spec/v1\noid sha256:0", &["Git LFS pointer"]);
    expect_bad_file(b"{\"error\": \"no\"}", &["JSON"]);
    expect_bad_file(b"Entry not found", &["no such file"]);
    expect_bad_file(&[b"PK\x03\x04".as_slice(), &[9; 60]].concat(), &["ZIP", "PyTorch"]);
    expect_bad_file(b"\x08\x01\0\0\0\0\0\0{\"model.embed_tokens.weight\":{}}", &["safetensors"]);
    expect_bad_file(&[b"tjgg".as_slice(), &[1; 60]].concat(), &["GGJT"]);
    expect_bad_file(&[0; 100], &["all zero"]);
    expect_bad_file(b"GGUX\x03\0\0\0 and so on and so on", &["starts with \"GGUX\\x03"]);
    expect_bad_file(b"x", &["starts with \"x\""]);
    for piece in [1, 100] {
        check_error(read_in(b"<p>no", piece, None).unwrap_err(), ErrorCode::BadFile, &["web page"]);
    }
}

#[test]
fn refuses_other_versions_and_big_endian() {
    expect_bad_file(&GgufWriter { version: 1, ..sample() }.build(), &["version is 1", "2 or 3"]);
    expect_bad_file(&GgufWriter { version: 4, ..sample() }.build(), &["version is 4", "2 or 3"]);
    expect_bad_file(&GgufWriter { version: 0, ..sample() }.build(), &["version is 0"]);
    expect_bad_file(&GgufWriter { version: 3u32.swap_bytes(), ..sample() }.build(), &["big-endian", "version 3"]);
    expect_bad_file(&GgufWriter { magic: *b"FUGG", ..sample() }.build(), &["big-endian"]);
}

#[test]
fn names_the_section_that_is_cut_short() {
    let writer = sample();
    let header = writer.header();
    let metadata_end = GgufWriter { tensors: vec![], ..writer.clone() }.header().len();
    let key_at = |key: &str| header.windows(key.len()).position(|w| w == key.as_bytes()).unwrap();
    let cuts = [
        (0, "the first 24 bytes"),
        (3, "the first 24 bytes"),
        (23, "the first 24 bytes"),
        (24, "the key of metadata pair 1 of 4"),
        (40, "the key of metadata pair 1 of 4"),
        (key_at("llama.block_count") + 22, "metadata `llama.block_count` (pair 2 of 4)"),
        (key_at("Ġworld") + 2, "metadata `tokenizer.ggml.tokens` (pair 3 of 4), element 4 of 4"),
        (metadata_end - 2, "metadata `tokenizer.ggml.scores` (pair 4 of 4), element 4 of 4"),
        (metadata_end, "tensor table entry 1 of 3"),
        (header.len() - 1, "tensor table entry 3 of 3"),
    ];
    for (cut, place) in cuts {
        let received = format!("{cut} bytes received, at least ");
        for piece in [1, 5, usize::MAX] {
            // The size is not known: only the end of the stream says that something is missing.
            let error = read_in(&header[..cut], piece, None).unwrap_err();
            check_error(error, ErrorCode::BadFile, &["cut short in", place, &received]);
            // The network broke off: the size promised more.
            let error = read_in(&header[..cut], piece, Some(writer.build().len() as u64)).unwrap_err();
            check_error(error.clone(), ErrorCode::BadFile, &["cut short in", place, &received]);
            let needed = error.message().rsplit(' ').nth(1).and_then(|number| number.parse::<usize>().ok());
            assert!(needed.is_some_and(|needed| (cut + 1..=header.len()).contains(&needed)), "{error}");
        }
    }
}

#[test]
fn every_cut_of_a_file_of_known_size_fails() {
    let bytes = sample().build();
    for cut in 0..bytes.len() {
        let error = read_in(&bytes[..cut], usize::MAX, Some(cut as u64)).expect_err("cut short");
        assert_eq!(error.code(), ErrorCode::BadFile);
        let errors = [1, 16].map(|piece| read_in(&bytes[..cut], piece, Some(cut as u64)).unwrap_err());
        assert!(errors.iter().all(|e| *e == error), "{error}");
    }
}

#[test]
fn refuses_counts_that_lie() {
    for lie in [1 << 63, u64::MAX, 1000] {
        expect_bad_file(&GgufWriter { pair_count: Some(lie), ..sample() }.build(), &[&format!("{lie} metadata pairs")]);
        expect_bad_file(&GgufWriter { tensor_count: Some(lie), ..sample() }.build(), &[&format!("{lie} tensors")]);
    }
    let many = GgufWriter { pair_count: Some(5), ..GgufWriter::new() }.pair("a", text("b"));
    expect_bad_file(&[many.build(), vec![0; 100]].concat(), &["`` is there a second time"]);
    let many = GgufWriter { pair_count: Some(65_537), ..sample() }.build();
    check_error(read_in(&many, 64, None).unwrap_err(), ErrorCode::BadFile, &["65537 metadata pairs", "at most 65536"]);
    let many = GgufWriter { tensor_count: Some(262_145), ..sample() }.build();
    check_error(read_in(&many, 64, None).unwrap_err(), ErrorCode::BadFile, &["262145 tensors", "at most 262144"]);
    // Without a known size the cap on headers decides.
    let lie = GgufWriter { pair_count: Some(1 << 63), ..sample() }.build();
    check_error(read_in(&lie, 64, None).unwrap_err(), ErrorCode::BadFile, &["9223372036854775808 metadata pairs"]);
}

#[test]
fn refuses_lengths_that_lie() {
    for lie in [1u64 << 63, u64::MAX, u64::MAX - 8, 1 << 32, 500] {
        let writer = GgufWriter::new().raw_pair("k", 8, &lie.to_le_bytes());
        expect_bad_file(&writer.build(), &["cut short in metadata `k` (pair 1 of 1)"]);
        let huge = lie > HEADER_CAP;
        if huge {
            let error = read_in(&writer.build(), 64, None).unwrap_err();
            check_error(error, ErrorCode::BadFile, &["metadata `k`", "headers end at 134217728"]);
        }
        for id in 0..13u32 {
            let array = [&id.to_le_bytes()[..], &lie.to_le_bytes()].concat();
            let writer = GgufWriter::new().raw_pair("k", 9, &array);
            expect_bad_file(&writer.build(), &["metadata `k`", &format!("{lie} elements"), "0 bytes are left"]);
            if huge {
                let error = read_in(&writer.build(), 64, None).unwrap_err();
                check_error(error, ErrorCode::BadFile, &["metadata `k`", &format!("{lie} elements")]);
            }
        }
        let in_array = [&8u32.to_le_bytes()[..], &2u64.to_le_bytes(), &string(b"x"), &lie.to_le_bytes()].concat();
        expect_bad_file(&GgufWriter::new().raw_pair("k", 9, &in_array).build(), &["`k`", "element 2 of 2"]);
    }
    let mut long_key = GgufWriter::new();
    long_key.pairs.push([&(1u64 << 63).to_le_bytes()[..], &[0; 40]].concat());
    expect_bad_file(&long_key.build(), &["metadata pair 1", "key has 9223372036854775808 bytes", "65535"]);
}

#[test]
fn a_header_that_never_ends_is_refused_at_the_cap() {
    // One string of 2 GiB is promised and would fit the file.
    let writer = GgufWriter::new().raw_pair("k", 8, &(2u64 << 30).to_le_bytes());
    let error = read_in(&writer.build(), 64, Some(8 << 30)).unwrap_err();
    check_error(error, ErrorCode::BadFile, &["metadata `k`", "headers end at 134217728"]);
}

#[test]
fn refuses_bad_metadata() {
    let twice = GgufWriter::new().pair("same", Value::U8(1)).pair("same", Value::U8(1));
    expect_bad_file(&twice.build(), &["metadata pair 2", "`same` is there a second time"]);
    let kind = GgufWriter::new().raw_pair("k", 13, &[0; 16]);
    expect_bad_file(&kind.build(), &["`k` has value type 13"]);
    let element = GgufWriter::new().raw_pair("k", 9, &[&99u32.to_le_bytes()[..], &[0; 16]].concat());
    expect_bad_file(&element.build(), &["metadata `k`", "element type 99"]);
    expect_bad_file(&GgufWriter::new().raw_pair("k", 7, &[2]).build(), &["metadata `k`", "bool is 2"]);
    let mut key = GgufWriter::new();
    key.pairs.push([string(b"ab\xff"), vec![0; 5]].concat());
    expect_bad_file(&key.build(), &["metadata pair 1", "not UTF-8 from byte 2 of 3"]);
    let long = "k".repeat(65_536);
    expect_bad_file(&GgufWriter::new().pair(&long, Value::U8(0)).build(), &["key has 65536 bytes", "65535"]);
    read(&GgufWriter::new().pair(&long[1..], Value::U8(0)).build()).unwrap();
    let twice = GgufWriter::new().pair(&long[1..], Value::U8(1)).pair(&long[1..], Value::U8(1));
    expect_bad_file(&twice.build(), &["kkk…` is there a second time"]);
}

#[test]
fn refuses_arrays_nested_too_deep() {
    let nest = |depth| (1..depth).fold(Array::U8(vec![7]), |inner, _| Array::Arrays(vec![inner]));
    let file = |depth| GgufWriter::new().pair("k", Value::Array(nest(depth))).build();
    assert_eq!(read(&file(4)).unwrap().metadata.get("k"), Some(&Value::Array(nest(4))));
    expect_bad_file(&file(5), &["metadata `k`", "deeper than 4"]);
    // A bomb of half a million levels, as bytes: building it as a value would itself recurse.
    let bomb = [9u32.to_le_bytes().as_slice(), &1u64.to_le_bytes()].concat().repeat(500_000);
    let bytes = GgufWriter::new().raw_pair("k", 9, &bomb).build();
    let error = read_in(&bytes, 4096, None).unwrap_err();
    check_error(error, ErrorCode::BadFile, &["metadata `k`", "deeper than 4"]);
}

#[test]
fn refuses_bad_alignment() {
    for wrong in [0u32, 1, 4, 24, 33, 48, u32::MAX] {
        let bytes = sample().pair("general.alignment", Value::U32(wrong)).build();
        expect_bad_file(&bytes, &[&format!("`general.alignment` is {wrong}"), "power of two"]);
    }
    expect_bad_file(&sample().pair("general.alignment", text("32")).build(), &["general.alignment", "found string"]);
    let huge = GgufWriter::new().pair("general.alignment", Value::U64(1 << 63)).zeros("t", GgmlType::F32, &[1]);
    expect_bad_file(&[huge.build(), vec![0; 64]].concat(), &["`t` ends at byte 9223372036854775812"]);
}

#[test]
fn refuses_bad_dimensions() {
    let with_dims = |ty: GgmlType, dims: &[u64]| {
        let bytes = GgufWriter::new().tensor("blk.0.w", ty, dims, vec![0; 64]).build();
        [bytes, vec![0; 64]].concat()
    };
    expect_bad_file(&with_dims(GgmlType::F32, &[]), &["`blk.0.w` has 0 dimensions", "1 to 4"]);
    expect_bad_file(&with_dims(GgmlType::F32, &[1; 5]), &["`blk.0.w` has 5 dimensions", "1 to 4"]);
    expect_bad_file(&with_dims(GgmlType::F32, &[4, 0]), &["`blk.0.w` of shape [4, 0]", "dimension is 0"]);
    expect_bad_file(&with_dims(GgmlType::Q4_K, &[256, 0]), &["dimension is 0"]);
    expect_bad_file(
        &with_dims(GgmlType::F32, &[1 << 32, 1 << 32]),
        &["shape [4294967296, 4294967296]", "18446744073709551615"],
    );
    expect_bad_file(&with_dims(GgmlType::F32, &[1 << 62, 1]), &["row of 4611686018427387904 weights"]);
    expect_bad_file(&with_dims(GgmlType::Q2_K, &[256, u64::MAX, 1, 1]), &["not below 18446744073709551615"]);
    expect_bad_file(&with_dims(GgmlType::Q4_K, &[128, 2]), &["`blk.0.w`", "row length 128", "256", "Q4_K"]);
    expect_bad_file(&with_dims(GgmlType::Q8_0, &[33]), &["row length 33", "32", "Q8_0"]);
}

#[test]
fn refuses_a_bad_tensor_table() {
    let twice = GgufWriter::new().zeros("same", GgmlType::F32, &[1]).zeros("same", GgmlType::F32, &[1]);
    expect_bad_file(&twice.build(), &["tensor `same` is there a second time"]);
    let longest = "n".repeat(64);
    read(&GgufWriter::new().zeros(&longest, GgmlType::F32, &[1]).build()).unwrap();
    let long = GgufWriter::new().zeros(&"n".repeat(65), GgmlType::F32, &[1]);
    expect_bad_file(&long.build(), &["tensor table entry 1 of 1", "name has 65 bytes", "64"]);
    let mut bytes = GgufWriter::new().zeros("nnnn", GgmlType::F32, &[1]).build();
    bytes[32..36].copy_from_slice(b"ab\xff\xff");
    expect_bad_file(&bytes, &["tensor table entry 1 of 1", "not UTF-8"]);
}

#[test]
fn refuses_unknown_tensor_types_by_name_and_id() {
    for (id, name) in [(9, "Q8_1"), (24, "I8"), (26, "I32"), (4, "Q4_2")] {
        let mut writer = sample();
        writer.tensors[1].type_id = id;
        let words = [&format!("`output_norm.weight` has type {id} ({name})"), "Q4_K"];
        expect_error(&writer.build(), ErrorCode::UnsupportedQuant, &words);
    }
    let mut writer = sample();
    writer.tensors[1].type_id = u32::MAX;
    expect_error(&writer.build(), ErrorCode::UnsupportedQuant, &["`output_norm.weight` has type 4294967295,"]);
}

#[test]
fn refuses_tensor_data_that_cannot_be() {
    let moved = |offset: u64| {
        let mut writer = sample();
        writer.tensors[1].offset = Some(offset);
        writer.build()
    };
    expect_bad_file(&moved(1 << 40), &["`output_norm.weight` ends at byte 1099511", "the file has "]);
    expect_bad_file(&moved(u64::MAX - 31), &["`output_norm.weight` of 28 bytes", "18446744073709551584"]);
    expect_bad_file(&moved(289), &["`output_norm.weight` is misaligned", "289", "32"]);
    expect_bad_file(&moved(256), &["tensors overlap", "`token_embd.weight`", "`output_norm.weight`"]);
    expect_bad_file(&moved(0), &["tensors overlap"]);
    // What needs no file size fails without one, too.
    for offset in [u64::MAX - 31, 289, 256] {
        let error = read_in(&moved(offset), 64, None).unwrap_err();
        assert_eq!(error.code(), ErrorCode::BadFile);
    }
    let bytes = sample().build();
    let cut = &bytes[..bytes.len() - 1];
    expect_bad_file(cut, &["`blk.0.ffn_up.weight` ends at byte", &format!("the file has {} bytes", cut.len())]);
}

#[test]
fn a_failed_reader_repeats_its_error() {
    let bytes = GgufWriter { version: 9, ..sample() }.build();
    let mut reader = HeaderReader::new(None);
    let error = reader.push(&bytes).unwrap_err();
    assert_eq!(reader.push(b"more"), Err(error.clone()));
    assert_eq!(reader.finish(), error);
    let mut writer = sample();
    writer.tensors[1].offset = Some(289);
    let mut reader = HeaderReader::new(None);
    let error = reader.push(&writer.build()).unwrap_err();
    assert_eq!(reader.finish(), error);
}

// Split files

/// Part `no` of `count`, with a tensor of its own; the first has the architecture, as `llama-gguf-split` writes it.
fn part(no: u16, count: u16, tensors: i32) -> GgufWriter {
    let mut writer = GgufWriter::new();
    if no == 0 {
        writer = writer.pair("general.architecture", text("llama"));
    }
    writer
        .pair("split.no", Value::U16(no))
        .pair("split.count", Value::U16(count))
        .pair("split.tensors.count", Value::I32(tensors))
        .zeros(&format!("t{no}.b"), GgmlType::F32, &[40])
        .zeros(&format!("t{no}.a"), GgmlType::F16, &[3])
}

fn join(parts: &[GgufWriter]) -> Result<Gguf, Error> {
    Gguf::join(parts.iter().map(|part| read(&part.build()).unwrap()).collect())
}

#[test]
fn joins_split_files() {
    let parts: Vec<_> = (0..3).map(|no| part(no, 3, 6)).collect();
    let joined = join(&parts).unwrap();
    let found: Vec<_> = joined.tensors.iter().map(|t| (t.part, t.name.as_str())).collect();
    assert_eq!(found, [(0, "t0.b"), (0, "t0.a"), (1, "t1.b"), (1, "t1.a"), (2, "t2.b"), (2, "t2.a")]);
    let first = read(&parts[0].build()).unwrap();
    assert_eq!((&joined.metadata, joined.header_bytes), (&first.metadata, first.header_bytes));
    assert_eq!(joined.split_count(), Ok(3));
    let second = read(&parts[1].build()).unwrap();
    assert_eq!(joined.tensors[2].offset, second.tensors[0].offset);
    assert_eq!(joined.data_end(1), parts[1].build().len() as u64);
}

#[test]
fn a_single_file_joins_with_itself() {
    let gguf = read(&sample().build()).unwrap();
    assert_eq!(gguf.split_count(), Ok(1));
    assert_eq!(Gguf::join(vec![gguf.clone()]), Ok(gguf));
    assert!(join(&[part(0, 1, 2)]).is_ok());
}

#[test]
fn refuses_split_files_that_do_not_belong_together() {
    let bad = |parts: &[GgufWriter], words: &[&str]| check_error(join(parts).unwrap_err(), ErrorCode::BadFile, words);
    bad(&[part(0, 3, 6), part(1, 3, 6)], &["file 1", "`split.count` 3", "given is 2"]);
    bad(&[part(0, 2, 4)], &["file 1", "`split.count` 2", "given is 1"]);
    bad(&[part(1, 2, 4), part(0, 2, 4)], &["file 1", "`split.no` 1, expected 0"]);
    bad(&[part(0, 2, 4), part(0, 2, 4)], &["file 2", "`split.no` 0, expected 1"]);
    bad(&[part(0, 2, 5), part(1, 2, 5)], &["hold 4 tensors, expected 5"]);
    bad(&[part(0, 2, 4), part(1, 2, 5)], &["file 2", "split.tensors.count", "5", "4"]);
    bad(&[sample(), sample()], &["`split.count` 1", "given is 2"]);
    let other = part(1, 2, 4).pair("general.architecture", text("qwen2"));
    bad(&[part(0, 2, 4), other], &["file 2", "general.architecture", "qwen2", "llama"]);
    let mut same = part(1, 2, 4);
    same.tensors[0].name = "t0.a".into();
    bad(&[part(0, 2, 4), same], &["`t0.a` is there a second time"]);
    check_error(Gguf::join(vec![]).unwrap_err(), ErrorCode::InvalidArgument, &["no file"]);
}

// Speed and real files

#[test]
fn a_large_vocabulary_reads_in_linear_time() {
    let tokens: Strings =
        (0..150_000).map(|i| format!("token number {i:06} of a vocabulary with long words")).collect();
    let scores = Array::F32(vec![1.0; tokens.len()]);
    let bytes = GgufWriter::new()
        .pair("chat", text(&"x".repeat(1 << 20)))
        .pair("tokens", Value::Array(Array::Strings(tokens.clone())))
        .pair("scores", Value::Array(scores))
        .zeros("t", GgmlType::F32, &[1])
        .build();
    for (piece, limit_ms) in [(64 << 10, 20_000), (usize::MAX, 20_000), (1, 60_000)] {
        for size in [None, Some(bytes.len() as u64)] {
            let start = CpuClock::start();
            let gguf = read_in(&bytes, piece, size).unwrap();
            let ms = start.elapsed().as_millis();
            println!("{} bytes in pieces of {piece}: {ms} ms", bytes.len());
            assert!(ms < limit_ms, "{ms} ms in pieces of {piece}");
            assert_eq!(gguf.metadata.strings("tokens"), Ok(Some(&tokens)));
        }
    }
}

#[test]
fn reads_real_vocabularies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vocab");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: no folder {}", folder.display());
        return;
    };
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "gguf"));
    let mut count = 0;
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let start = CpuClock::start();
        let gguf = read_in(&bytes, 64 << 10, Some(bytes.len() as u64)).unwrap();
        let tokens = gguf.metadata.strings("tokenizer.ggml.tokens").unwrap().unwrap().len();
        println!("{}: {tokens} tokens in {:?}", path.display(), start.elapsed());
        assert!(
            tokens > 30_000 && gguf.tensors.is_empty() && gguf.metadata.str("general.architecture").unwrap().is_some()
        );
        for piece in [1, 4093] {
            assert_eq!(read_in(&bytes, piece, None), Ok(gguf.clone()), "in pieces of {piece}");
        }
        count += 1;
    }
    println!("{count} real headers");
}

// Blocks

/// The raw blocks of a fixture and their weights.
fn block_fixture(ty: GgmlType) -> (Vec<u8>, Vec<f32>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/blocks/{}.bin", ty.name()));
    let file = std::fs::read(path).unwrap();
    let (count, rest) = file.split_first_chunk().unwrap();
    let count = u32::from_le_bytes(*count) as usize;
    let (raw, weights) = rest.split_at(count * ty.block_bytes());
    assert_eq!(weights.len(), count * ty.block_len() * 4);
    (raw.to_vec(), weights.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
}

#[test]
fn dequantizes_like_the_gguf_package() {
    for ty in GgmlType::ALL {
        let (raw, expected) = block_fixture(ty);
        let mut found = vec![f32::NAN; expected.len()];
        dequantize(ty, &raw, &mut found).unwrap();
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.to_bits(), expected.to_bits(), "{} weight {i}: {found} is not {expected}", ty.name());
        }
        assert_eq!(row_bytes(ty, expected.len() as u64), Ok(raw.len() as u64));
    }
}

#[test]
fn dequantize_checks_its_sizes() {
    let code = |ty, bytes: usize, weights: usize| {
        dequantize(ty, &vec![0; bytes], &mut vec![0.0; weights]).map_err(|e| e.code())
    };
    assert_eq!(code(GgmlType::Q4_K, 144, 256), Ok(()));
    assert_eq!(code(GgmlType::Q4_K, 0, 0), Ok(()));
    assert_eq!(code(GgmlType::Q4_K, 143, 256), Err(ErrorCode::InvalidArgument));
    assert_eq!(code(GgmlType::Q4_K, 288, 256), Err(ErrorCode::InvalidArgument));
    assert_eq!(code(GgmlType::Q8_0, 34, 31), Err(ErrorCode::BadFile));
    assert!(row_bytes(GgmlType::F32, u64::MAX).is_err());
}

#[test]
fn f16_rounds_to_nearest_even() {
    assert_eq!(f16_from_f32(1.0), 0x3c00);
    assert_eq!(f16_from_f32(1.0 + 1.0 / 2048.0), 0x3c00);
    assert_eq!(f16_from_f32(1.0 + 3.0 / 2048.0), 0x3c02);
    assert_eq!(f16_from_f32(65_520.0), 0x7c00);
    assert_eq!(f16_from_f32(-5.960_464_5e-8), 0x8001);
    for bits in (0..=u16::MAX).filter(|bits| bits & 0x7c00 != 0x7c00) {
        assert_eq!(f16_from_f32(f16_to_f32(bits)), bits);
    }
}

#[test]
fn a_type_is_found_by_its_id_and_no_other() {
    for id in 0..1000 {
        if let Some(ty) = GgmlType::from_id(id) {
            assert_eq!(ty.id(), id);
        }
    }
    assert_eq!((0..1000).filter_map(GgmlType::from_id).count(), GgmlType::ALL.len());
    // The writer and the reader agree on arrays, also where neither knows a name.
    assert_eq!(array_bytes(&Array::U8(vec![])).len(), 12);
}
