//! Helpful messages for files that are not GGUF of a supported version.

use crate::error::{Error, Result};

const MAGIC: &[u8; 4] = b"GGUF";

/// The first bytes of other file formats, and their names. The first match counts.
const STARTS: &[(&[u8], &str)] = &[
    (b"FUGG", "a big-endian GGUF; only little-endian files can be read"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file that it points to"),
    (b"<", "a web page (HTML or XML); the address may lead to a page about the model or to an error page"),
    (b"{", "JSON text"),
    (b"[", "JSON text"),
    (b"PK\x03\x04", "a ZIP archive, such as a PyTorch checkpoint; convert it to GGUF"),
    (b"\x1f\x8b", "gzip-compressed; decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed; decompress it first"),
    (b"\x80\x02", "a Python pickle; convert it to GGUF"),
    (b"\x89HDF", "an HDF5 file; convert it to GGUF"),
    (b"lmgg", "an old GGML file; convert it to GGUF"),
    (b"fmgg", "an old GGML file (GGMF); convert it to GGUF"),
    (b"tjgg", "an old GGML file (GGJT); convert it to GGUF"),
    (b"\0asm", "a WebAssembly module"),
    (b"Entry not found", "a server's message that there is no such file"),
    (b"Not Found", "a server's message that there is no such file"),
    (b"Invalid username", "a server's message that access needs a login"),
    (b"Access to model", "a server's message that access to the model is restricted"),
];

/// Whether a GGUF file may start with these bytes, as far as they go.
pub(super) fn may_be_gguf(start: &[u8]) -> bool {
    start.iter().zip(MAGIC).all(|(found, expected)| found == expected)
}

/// The error for a file that starts with these bytes instead of `GGUF`.
pub(super) fn describe(start: &[u8]) -> Error {
    let visible = start.trim_ascii_start();
    let known = STARTS.iter().find(|(prefix, _)| start.starts_with(prefix) || visible.starts_with(prefix));
    // A safetensors file: the length of its JSON header in 8 bytes, then the header.
    let safetensors = start.get(8) == Some(&b'{') && start[4..8] == [0; 4];
    let looks = match known {
        Some((_, words)) => format!("it looks like {words}"),
        None if safetensors => "it looks like a safetensors file; convert it to GGUF".to_owned(),
        None if start.iter().all(|&byte| byte == 0) => "its first bytes are all zero".to_owned(),
        None => format!("it starts with \"{}\"", start[..start.len().min(16)].escape_ascii()),
    };
    Error::bad_file(format!("not a GGUF file: expected \"GGUF\" at the start, but {looks}"))
}

/// Returns the version if it is supported.
pub(super) fn check_version(version: u32) -> Result<u32> {
    match version {
        2 | 3 => Ok(version),
        1 => Err(Error::bad_file("GGUF version is 1, expected 2 or 3; convert the model again with current tools")),
        // A small number with its bytes in the other order.
        _ if version != 0 && version & 0xffff == 0 => Err(Error::bad_file(format!(
            "big-endian GGUF of version {}; only little-endian files can be read",
            version.swap_bytes()
        ))),
        _ => Err(Error::bad_file(format!("GGUF version is {version}, expected 2 or 3"))),
    }
}
