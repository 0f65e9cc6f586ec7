//! Shaders that models do not use: the WebAssembly of pages has their names, and a page fetches their text with its
//! first `Gpu`. Builds for the host and with the features `harness` and `tensors` have the text as that of all others.

use std::sync::OnceLock;

/// Files of `shaders/` that only operations on tensors use. `tools/shaders.mjs` reads this list and writes them into
/// one module; `tests/contract.rs` and `tests/dispatches.rs` see that no model needs one.
pub const FETCHED: &[&str] = &[
    "argmax_axis",
    "attention_strided",
    "concat",
    "cumsum",
    "elementwise",
    "expand",
    "expert_rows",
    "expert_sum",
    "fill",
    "gather_axis",
    "kv_write",
    "layer_norm",
    "mat_mul_dense",
    "mat_mul_dense_few",
    "mat_mul_grouped",
    "mat_mul_grouped_each",
    "narrow",
    "reduce",
    "rms_norm_residual",
    "rope",
    "rope_table",
    "scatter_add",
    "scatter_links",
    "selective_scan",
    "sinkhorn",
    "sinkhorn_columns",
    "sinkhorn_rows",
    "softmax",
    "top_k",
    "transpose",
    "transpose_tiled",
    "shared/dense",
    "shared/dense_4x4",
    "shared/dense_8x8",
    "shared/dense_blocks",
    "shared/dense_numbers",
    "shared/expert_blocks",
    "shared/expert_numbers",
    "shared/expert_x",
    "shared/kv_f16",
    "shared/kv_value_f16",
    "shared/links",
    "shared/norm_rows",
    "shared/order_key",
    "shared/real_f16",
    "shared/real_f32",
    "shared/rotations_computed",
    "shared/rotations_table",
    "shared/sinkhorn_share",
    "shared/stored",
    "shared/strided_copy",
    "shared/visible",
];

/// Whether this build lacks the file.
pub const fn is_fetched(file: &str) -> bool {
    let mut i = 0;
    while cfg!(all(target_arch = "wasm32", not(any(feature = "harness", feature = "tensors")))) && i < FETCHED.len() {
        if same(FETCHED[i].as_bytes(), file.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Files one after the other, each behind a line `#file NAME`.
static TEXT: OnceLock<String> = OnceLock::new();

/// Gives the files that this build lacks, before the first operation on tensors. The first call counts.
pub fn give(text: String) {
    let _ = TEXT.set(text);
}

/// The text of a file that was given.
///
/// # Panics
/// Without it: `Gpu.create` gives all of them.
pub fn fetched(file: &str) -> &'static str {
    let text = TEXT.get().map_or("", String::as_str);
    find(text, file).unwrap_or_else(|| panic!("shaders/{file}.wgsl was not given"))
}

fn find<'a>(text: &'a str, file: &str) -> Option<&'a str> {
    let (_, found) = text.split_once(&format!("#file {file}\n"))?;
    Some(found.split("#file ").next().unwrap_or(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_whole_name() {
        let text = "#file shared/top\nfn a() {}\n#file top_k\nfn b() {}\n#file top\nfn c() {}\nfn d() {}\n";
        assert_eq!(find(text, "top"), Some("fn c() {}\nfn d() {}\n"));
        assert_eq!(find(text, "top_k"), Some("fn b() {}\n"));
        assert_eq!(find(text, "shared/top"), Some("fn a() {}\n"));
        assert_eq!(find(text, "to"), None);
        assert!(same(b"top", b"top") && !same(b"top", b"top_k") && !same(b"top", b"tap"));
    }
}
