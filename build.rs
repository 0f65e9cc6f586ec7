//! Lists the shaders for `src/kernels/shaders.rs`: the files of `shaders/` by name, with their text without comments.
//!
//! A kernel's name is that of its file, `compute/name` in the folder `compute`. What kernels import is `shared/name`,
//! whatever folder it lies in. Names are unique.
//!
//! The WebAssembly of pages lacks `compute/` and `tensor/`, which `Gpu` fetches, and `rare/` and `device/`, which
//! `load` fetches for the models and the devices that need them. It lacks the grids of `src/formats/grids/` as well,
//! which come with `rare/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders of shaders that are kernels, with what stands before their names.
const KERNELS: [(&str, &str); 5] =
    [("model", ""), ("rare/model", ""), ("device/model", ""), ("tensor", ""), ("compute", "compute/")];

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
    // Files of a folder lie side by side, where they compress better.
    files.sort_by(|one, other| one.1.cmp(&other.1));
    // What models do not need, a page fetches with its first `Gpu`.
    let tensors = harness || is_set("CARGO_FEATURE_TENSORS") || !is_page;
    let [mut held, mut fetched, mut rare, mut device] = [const { String::new() }; 4];
    for (name, path, text) in &files {
        let folder = path.split('/').next().unwrap_or_default();
        let is_held = match folder {
            "compute" => harness,
            "tensor" | "rare" | "device" => tensors,
            _ => true,
        };
        if is_held {
            let code = stripped(text);
            let code = if is_page && !harness { without_blanks(&code) } else { code };
            let _ = writeln!(held, "({name:?}, {code:?}),");
        }
        match folder {
            "tensor" => drop(writeln!(fetched, "{name:?},")),
            "rare" => drop(writeln!(rare, "{name:?},")),
            "device" => drop(writeln!(device, "{name:?},")),
            _ => {}
        }
    }
    let text = format!(
        "static FILES: &[(&str, &str)] = &[\n{held}];\n\
         /// The files that operations on tensors alone use.\npub const FETCHED: &[&str] = &[\n{fetched}];\n\
         /// The files of `shaders/rare/`.\npub const RARE: &[&str] = &[\n{rare}];\n\
         /// The files of `shaders/device/`.\npub const DEVICE: &[&str] = &[\n{device}];\n"
    );
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("shaders.rs"), text).expect("the output folder is writable");
    write_grids(&out, tensors);
}

/// Writes the codes of all grids one after the other, unless pages fetch them, and a constant with the place of each.
fn write_grids(out: &Path, are_held: bool) {
    println!("cargo::rerun-if-changed=src/formats/grids");
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src/formats/grids");
    let entries = fs::read_dir(folder).expect("the grids have a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    files.sort();
    let (mut bytes, mut places) = (Vec::new(), String::new());
    for file in files {
        let stem = file.file_stem().expect("a file has a name").to_string_lossy().to_uppercase();
        let codes = fs::read(&file).expect("a grid can be read");
        let _ =
            writeln!(places, "const {stem}_CODES: Codes = Codes {{ at: {}, bytes: {} }};", bytes.len(), codes.len());
        bytes.extend(codes);
    }
    let held = if are_held { "include_bytes!(concat!(env!(\"OUT_DIR\"), \"/grids.bin\"))" } else { "&[]" };
    let _ = writeln!(places, "static HELD: &[u8] = {held};");
    fs::write(out.join("grids.bin"), &bytes).expect("the output folder is writable");
    fs::write(out.join("grids.rs"), places).expect("the output folder is writable");
}

/// Puts (name, path, text) of every shader under `folder` into `files`.
fn walk(root: &Path, folder: &Path, files: &mut Vec<(String, String, String)>) {
    for entry in fs::read_dir(folder).expect("shaders/ has folders and files") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            walk(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            let inside = path.strip_prefix(root).expect("it is under the root");
            let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
            let stem = path.file_stem().expect("a file has a name").to_string_lossy();
            let kernel = KERNELS.iter().find(|(folder, _)| inside.parent() == Some(Path::new(folder)));
            let name = kernel.map_or(format!("shared/{stem}"), |(_, prefix)| format!("{prefix}{stem}"));
            files.push((name, parts.join("/"), fs::read_to_string(&path).expect("a shader is UTF-8")));
        }
    }
}

/// `text` without comments, blanks at both ends of a line and empty lines. A comment begins with `//` and ends with its
/// line: shaders have no others.
fn stripped(text: &str) -> String {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    code.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}

/// For the product, where each byte counts: a text without blanks and ends of lines beside characters that are complete
/// alone. Two of the others, such as `- -`, may differ from what they are side by side. Imports have lines of their
/// own.
fn without_blanks(text: &str) -> String {
    let is_complete = |c: char| "=+,;:(){}[]".contains(c);
    let mut kept = String::new();
    for line in text.lines() {
        let is_import = line.starts_with('#');
        // Where lines meet, only what ends a statement, a block or an argument is complete.
        let meets = kept.ends_with([';', '{', '}', ',', '(']) && !is_import;
        if !kept.is_empty() && !kept.ends_with('\n') && !meets {
            kept.push('\n');
        }
        let mut blank = false;
        for c in line.chars() {
            if c == ' ' {
                blank = true;
                continue;
            }
            let last = kept.chars().last().unwrap_or('\n');
            // Without blanks, the tokens of `array<f32> = x` would merge.
            if blank && (is_import || last == '>' && c == '=' || !is_complete(c) && !is_complete(last)) {
                kept.push(' ');
            }
            blank = false;
            kept.push(c);
        }
        if is_import {
            kept.push('\n');
        }
    }
    kept.push('\n');
    kept
}
