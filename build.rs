//! Lists the shaders for `src/kernels/shaders.rs`: the files of `shaders/` by name, with their text without comments.
//!
//! A kernel's name is that of its file, `compute/name` in the folder `compute`. What kernels import is `shared/name`,
//! whatever folder it lies in. Names are unique.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders of shaders that are kernels, with what stands before their names.
const KERNELS: [(&str, &str); 3] = [("model", ""), ("tensor", ""), ("compute", "compute/")];

fn main() {
    println!("cargo::rerun-if-changed=shaders");
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("shaders");
    let mut files = Vec::new();
    walk(&root, &root, &mut files);
    files.sort();
    if let Some([one, _]) = files.array_windows().find(|[one, other]| one.0 == other.0) {
        panic!("two shaders have the name {}", one.0);
    }
    let is_set = |feature: &str| env::var_os(feature).is_some();
    let harness = is_set("CARGO_FEATURE_HARNESS");
    let is_page = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    // What models do not need, a page fetches with its first `Gpu`.
    let tensors = harness || is_set("CARGO_FEATURE_TENSORS") || !is_page;
    let (mut held, mut fetched) = (String::new(), String::new());
    for (name, folder, text) in &files {
        let is_held = match folder.as_str() {
            "compute" => harness,
            "tensor" => tensors,
            _ => true,
        };
        if is_held {
            let code = stripped(text);
            let code = if is_page && !harness { code.lines().map(without_blanks).collect() } else { code };
            let _ = writeln!(held, "({name:?}, {code:?}),");
        }
        if folder == "tensor" {
            let _ = writeln!(fetched, "{name:?},");
        }
    }
    let text = format!(
        "static FILES: &[(&str, &str)] = &[\n{held}];\n\
         /// The files that operations on tensors alone use.\npub const FETCHED: &[&str] = &[\n{fetched}];\n"
    );
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("shaders.rs");
    fs::write(out, text).expect("the output folder is writable");
}

/// Puts (name, first folder, text) of every shader under `folder` into `files`.
fn walk(root: &Path, folder: &Path, files: &mut Vec<(String, String, String)>) {
    for entry in fs::read_dir(folder).expect("shaders/ has folders and files") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            walk(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            let inside = path.strip_prefix(root).expect("it is under the root");
            let first = inside.iter().next().expect("it is in a folder").to_string_lossy().into_owned();
            let stem = path.file_stem().expect("a file has a name").to_string_lossy();
            let kernel = KERNELS.iter().find(|(folder, _)| inside.parent() == Some(Path::new(folder)));
            let name = kernel.map_or(format!("shared/{stem}"), |(_, prefix)| format!("{prefix}{stem}"));
            files.push((name, first, fs::read_to_string(&path).expect("a shader is UTF-8")));
        }
    }
}

/// `text` without comments, blanks at both ends of a line and empty lines. A comment begins with `//` and ends with its
/// line: shaders have no others.
fn stripped(text: &str) -> String {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    code.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}

/// For the product, where each byte counts: a line without blanks beside characters that are complete alone. Two of the
/// others, such as `- -`, may differ from what they are side by side.
fn without_blanks(line: &str) -> String {
    let is_complete = |c: char| "=+,;:(){}[]".contains(c);
    let mut kept = String::new();
    let mut blank = false;
    for c in line.chars() {
        match c {
            ' ' => blank = true,
            _ => {
                let last = kept.chars().last().unwrap_or('(');
                // Of `array<f32> = x` too much would be one token.
                if blank && (last == '>' && c == '=' || !is_complete(c) && !is_complete(last)) {
                    kept.push(' ');
                }
                blank = false;
                kept.push(c);
            }
        }
    }
    kept.push('\n');
    kept
}
