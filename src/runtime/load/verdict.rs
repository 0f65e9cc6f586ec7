//! The verdict of a check of kernels.

use serde::Serialize;

/// Result of a check. Mirrors `SelfCheck` in `js/types.ts`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SelfCheck {
    pub(super) verdict: Verdict,
    /// Ids of the variants that computed wrong results and were replaced by others.
    pub(super) replaced: Vec<String>,
    /// Ids of the wrong variants for which there are no others.
    pub(super) wrong: Vec<String>,
    /// Number of variants that were checked.
    pub(super) checked: usize,
    pub(super) milliseconds: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    #[default]
    Skipped,
    Passed,
    Partial,
    Replaced,
    Failed,
    Remembered,
}
