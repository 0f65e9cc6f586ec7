//! The texts of `shaders/`, without comments, by name: see `build.rs`.
//!
//! Shaders that models do not use are not in the WebAssembly of pages, which fetch their text with their first `Gpu`.
//! Builds for the host and with the features `harness` and `tensors` have all.

use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// (name, text) of every file that this build has.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied()
}

/// The text of a file: `name` of a kernel's, `shared/name` of one to import.
///
/// # Panics
/// Where there is none: `tests/contract.rs` sees that all are there, and `Gpu.create` gives those that are fetched.
pub fn text(name: &str) -> &'static str {
    let held = FILES.iter().find(|(held, _)| *held == name).map(|(_, text)| *text);
    held.or_else(|| find(GIVEN.get()?, name)).unwrap_or_else(|| panic!("no text of the shader {name}"))
}

/// Files one after the other, each behind a line `#file NAME`.
static GIVEN: OnceLock<String> = OnceLock::new();

/// Gives the files that this build lacks, before the first operation on tensors. The first call counts.
pub fn give(text: String) {
    let _ = GIVEN.set(text);
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
