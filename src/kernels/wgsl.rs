//! Shader files as the wasm carries them: without comments, blank lines and indentation, which are cut while this crate
//! compiles. Those that only operations of `Gpu` use are not in a page's wasm: see [`fetched`](super::fetched).

/// `text` without comments, blanks at both ends of a line and empty lines, and the number of its bytes; the array's
/// rest is zero.
/// `N` is at least that number. A comment begins with `//` and ends with its line: shaders have no others.
pub const fn strip<const N: usize>(text: &str) -> ([u8; N], usize) {
    let text = text.as_bytes();
    let mut kept = [0; N];
    let mut len = 0;
    let mut start = 0;
    while start < text.len() {
        let end = line_end(text, start);
        let code_end = code_end(text, start, end);
        let mut i = start;
        while i < code_end && text[i] == b' ' {
            i += 1;
        }
        while i < code_end {
            kept[len] = text[i];
            len += 1;
            i += 1;
        }
        if code_end > start {
            kept[len] = b'\n';
            len += 1;
        }
        start = end + 1;
    }
    (kept, len)
}

/// Where the line that begins at `start` ends: at its newline, or at the end of the text.
const fn line_end(text: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < text.len() && text[end] != b'\n' {
        end += 1;
    }
    end
}

/// Where the code of `text[start..end]` ends; `start` where there is none.
const fn code_end(text: &[u8], start: usize, end: usize) -> usize {
    let mut at = start;
    let mut code_end = start;
    while at < end && !(text[at] == b'/' && at + 1 < end && text[at + 1] == b'/') {
        if text[at] != b' ' {
            code_end = at + 1;
        }
        at += 1;
    }
    code_end
}

/// The file `shaders/$name.wgsl`, stripped by [`strip`], or `#fetched $name` where it is not in this wasm.
macro_rules! wgsl {
    ($($name:expr),+) => {{
        const NAME: &str = concat!($($name),+);
        const TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $($name,)+ ".wgsl"));
        const LEN: usize = $crate::kernels::wgsl::strip::<{ TEXT.len() }>(TEXT).1;
        const BYTES: [u8; LEN] = $crate::kernels::wgsl::strip::<LEN>(TEXT).0;
        const STRIPPED: &str = match std::str::from_utf8(&BYTES) {
            Ok(stripped) => stripped,
            Err(_) => panic!("a shader is not UTF-8"),
        };
        if $crate::kernels::fetched::is_fetched(NAME) { concat!("#fetched ", $($name),+) } else { STRIPPED }
    }};
}

pub(crate) use wgsl;

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn comments_and_blank_lines_go() {
        let text = "// what\n\nfn f() {  // why\n    let x = 1 / 2; \n   // mutant: 1 => 2\n}\n#import y";
        let wanted = "fn f() {\nlet x = 1 / 2;\n}\n#import y\n";
        let (kept, len) = strip::<128>(text);
        assert_eq!(std::str::from_utf8(&kept[..len]).unwrap(), wanted);
        assert_eq!(strip::<8>("// only a comment"), ([0; 8], 0));
    }
}
