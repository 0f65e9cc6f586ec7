//! The texts of `shaders/`, without comments, by name: see `build.rs`.
//!
//! The WebAssembly of pages lacks three folders. Pages fetch `tensor/`, which models do not use, with their first
//! `Gpu`, `rare/` with the first model that [`needs_rare`](crate::model::needs_rare), and `device/` with the first
//! model on a device that [`rounds_activations`](super::caps::Caps::rounds_activations). Builds for the host and with
//! the features `harness` and `tensors` have all.

use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// (name, text) of every file that this build has.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied()
}

/// The text of a file: `name` of a kernel's, `shared/name` of one to import.
///
/// # Panics
/// Where there is none: `tests/contract.rs` sees that all are there, and pages give those that they fetch.
pub fn text(name: &str) -> &'static str {
    let held = FILES.iter().find(|(held, _)| *held == name).map(|(_, text)| *text);
    let given = || GIVEN.iter().find_map(|given| find(given.get()?, name));
    held.or_else(given).unwrap_or_else(|| panic!("no text of the shader {name}"))
}

/// The files that a page provides.
#[derive(Debug, Clone, Copy)]
pub enum Given {
    /// [`FETCHED`].
    Tensors,
    /// [`RARE`].
    Rare,
    /// [`DEVICE`].
    Device,
}

/// Files one after the other, each behind a line `#file NAME`, by [`Given`].
static GIVEN: [OnceLock<String>; 3] = [const { OnceLock::new() }; 3];

/// Gives files that this build lacks, before the first pipeline that needs them. The first call for each counts.
pub fn give(what: Given, text: String) {
    let _ = GIVEN[what as usize].set(text);
}

fn find<'a>(text: &'a str, file: &str) -> Option<&'a str> {
    let (_, found) = text.split_once(&format!("#file {file}\n"))?;
    Some(found.split("#file ").next().unwrap_or(found))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_file_is_found_by_its_whole_name() {
        let text = "#file shared/top\nfn a() {}\n#file top_k\nfn b() {}\n#file top\nfn c() {}\nfn d() {}\n";
        assert_eq!(find(text, "top"), Some("fn c() {}\nfn d() {}\n"));
        assert_eq!(find(text, "top_k"), Some("fn b() {}\n"));
        assert_eq!(find(text, "shared/top"), Some("fn a() {}\n"));
        assert_eq!(find(text, "to"), None);
    }
}
