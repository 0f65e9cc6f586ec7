//! What agreed with the CPU is not run again while it is the same: files in `tests/fixtures/agreed` have digests of all
//! that the GPU was given then. `npm run agreed` runs everything and writes them, `npm run agreed -- changed` what
//! `npm test` would run.

use super::console::console_log;
use webgguf::harness::Digest;

/// Whether what has not changed runs, too.
const RUN_ALL: bool = option_env!("WEBGGUF_AGREED").is_some();

/// The line of a file of digests.
fn line(name: &str, digest: &Digest) -> String {
    format!("{name} {}", digest.text())
}

/// Whether `name` agreed with this digest before, by the lines of `agreed`.
pub fn is_known(name: &str, digest: &Digest, agreed: &str) -> bool {
    let line = line(name, digest);
    let known = !RUN_ALL && agreed.lines().any(|of| of == line);
    if known {
        console_log!("{name}: as it was when it agreed");
    }
    known
}

/// Says that it agrees now: `tools/agreed.mjs` reads that.
pub fn tell(name: &str, digest: &Digest) {
    console_log!("agreed: {}", line(name, digest));
}
