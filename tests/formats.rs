//! The table of formats: rows that do not contradict each other, and the list of them for TypeScript.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use webgguf::formats::{GgmlType, file_type_label};

#[test]
fn no_two_rows_share_a_name() {
    let ids: BTreeSet<u32> = GgmlType::ALL.into_iter().map(GgmlType::id).collect();
    assert_eq!(ids.len(), GgmlType::ALL.len());
    let labels = || GgmlType::ALL.into_iter().flat_map(|ty| ty.format().file_types);
    let distinct: BTreeSet<u64> = labels().map(|label| label.0).collect();
    assert_eq!(distinct.len(), labels().count());
    for ty in GgmlType::ALL {
        assert_eq!(format!("{ty:?}"), ty.name());
        assert_eq!(ty.name().to_lowercase(), ty.key());
        // TQ1_0 is packed as TQ2_0.
        let packed = if ty == GgmlType::TQ1_0 { GgmlType::TQ2_0 } else { ty };
        assert_eq!(ty.format().weights, format!("weights_{}", packed.key()));
        // Mixtures such as IQ3_M are named after their number of bits.
        let stem = ty.name().split('_').next().expect("a name");
        assert!(ty.format().file_types.iter().all(|(_, label)| label.starts_with(stem)), "{ty:?}");
    }
    assert_eq!((file_type_label(15), file_type_label(4)), (Some("Q4_K_M"), None));
}

#[test]
fn a_block_is_whole_in_its_sections() {
    for format in GgmlType::ALL.map(GgmlType::format).into_iter().filter(|format| format.is_quantised()) {
        let of_blocks = format.sections.iter().filter(|s| s.weights != 0);
        let units = of_blocks.map(|s| s.bytes as usize * format.block_len / s.weights as usize);
        // The base-3 digits of TQ1_0 become bit pairs.
        let grown = if format.name == "TQ1_0" { 64 - 52 } else { 0 };
        assert_eq!(units.sum::<usize>(), format.block_bytes + grown, "{}", format.name);
        assert!(format.twin.is_some(), "{}", format.name);
        assert!(format.numbers.iter().all(|number| number.at < format.block_bytes), "{}", format.name);
    }
}

/// `js/tensor/formats.ts` is written by `WEBGGUF_BLESS=1 cargo test --test formats`.
#[test]
fn typescript_has_the_same_list() {
    let mut text = String::from(
        "/** The formats of GGUF in blocks: written by `WEBGGUF_BLESS=1 cargo test --test formats` from src/formats. \
         */\n\
         export const QUANTISED = {\n",
    );
    for ty in GgmlType::ALL.into_iter().filter(|ty| ty.is_quantised()) {
        let _ = writeln!(text, "  {}: true,", ty.key());
    }
    text.push_str("} as const;\n");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/js/tensor/formats.ts");
    if std::env::var_os("WEBGGUF_BLESS").is_some() {
        std::fs::write(file, &text).expect("a writable list");
    }
    assert_eq!(text, std::fs::read_to_string(file).unwrap_or_default(), "the formats changed");
}
