//! The class behind `www/kernels.html`, which runs kernel cases one at a time. Only in builds with the feature
//! `harness`.

use std::collections::BTreeMap;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::errors::{to_js, to_value};
use super::tensor::DeviceFacts;
use crate::gpu::{CaseRun, Device};
use crate::harness::{Case, Digest, Outcome, cases, choices};
use crate::time_slice::now;
use crate::{Error, Result};

/// A device and the cases for it.
#[wasm_bindgen]
pub struct Harness {
    pub(super) device: Device,
    cases: Vec<Case>,
}

/// The names of a case.
#[derive(Serialize)]
struct Entry<'a> {
    kernel: &'a str,
    variant: &'a str,
    case: &'a str,
}

/// The result of a case.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    status: &'static str,
    reason: Option<String>,
    max_abs_error: f32,
    max_rel_error: f32,
    /// The largest error as a multiple of the tolerance.
    of_limit: f32,
    limit: Option<Limit>,
    ms: f64,
    gbps: f64,
    gflops: f64,
    first: Option<First>,
}

/// The tolerance: `abs + rel · |expected|`.
#[derive(Serialize)]
struct Limit {
    abs: f32,
    rel: f32,
}

/// All cases of a kernel.
#[derive(Serialize)]
struct KernelDigest<'a> {
    kernel: &'a str,
    digest: String,
}

/// The choice of a rule table on this device.
#[derive(Serialize)]
struct Rule<'a> {
    kernel: &'a str,
    problem: &'a str,
    choice: &'a str,
}

/// The first wrong element.
#[derive(Serialize)]
struct First {
    index: usize,
    expected: String,
    found: String,
}

/// Number of runs in the timed submit: enough for the wait not to matter on a fast GPU.
const REPEATS: u32 = 32;

/// Duration in milliseconds above which a single run is the measurement.
const SLOW_MS: f64 = 8.0;

/// Duration in milliseconds above which the first run is not repeated.
const MAX_MS: f64 = 500.0;

#[wasm_bindgen]
impl Harness {
    /// Opens a device and makes the cases for it.
    pub async fn open() -> std::result::Result<Harness, JsValue> {
        let device = Device::open().await.map_err(to_js)?;
        let cases = cases(&device.caps);
        Ok(Self { device, cases })
    }

    /// The properties of the device.
    pub fn facts(&self) -> std::result::Result<JsValue, JsValue> {
        to_value(&DeviceFacts::of(&self.device))
    }

    /// The choices of the rule tables on this device.
    pub fn rules(&self) -> std::result::Result<JsValue, JsValue> {
        let choices = choices(&self.device.caps);
        let rules = choices.iter().map(|c| Rule { kernel: c.kernel, problem: &c.problem, choice: &c.choice });
        to_value(&rules.collect::<Vec<_>>())
    }

    /// Lists the cases, in the order of their numbers.
    pub fn list(&self) -> std::result::Result<JsValue, JsValue> {
        let entries = self.cases.iter().map(|c| Entry { kernel: c.kernel_name, variant: &c.variant, case: &c.name });
        let entries: Vec<Entry> = entries.collect();
        to_value(&entries)
    }

    /// A digest of all cases of each kernel.
    pub fn digests(&self) -> std::result::Result<JsValue, JsValue> {
        let mut by_kernel: BTreeMap<_, Vec<&Case>> = BTreeMap::new();
        for case in &self.cases {
            by_kernel.entry(case.kernel_name).or_default().push(case);
        }
        let of = |(kernel, cases)| KernelDigest { kernel, digest: Digest::of_cases(&self.device, cases).text() };
        to_value(&by_kernel.into_iter().map(of).collect::<Vec<_>>())
    }

    /// Runs case `index`; with `timed`, measures it, too.
    pub async fn run(&self, index: usize, timed: bool) -> std::result::Result<JsValue, JsValue> {
        let missing = || to_js(Error::invalid_argument(format!("case {index} of {}", self.cases.len())));
        let case = self.cases.get(index).ok_or_else(missing)?;
        to_value(&self.report(case, timed).await)
    }
}

impl Harness {
    async fn report(&self, case: &Case, timed: bool) -> Report {
        if let Some(feature) = case.needs {
            return Report { status: "skipped", reason: Some(format!("needs {feature}")), ..Report::default() };
        }
        match self.measure(case, timed).await {
            Ok((outcome, ms)) => report(case, outcome, ms),
            Err(error) => Report { status: "failed", reason: Some(error.message().to_owned()), ..Report::default() },
        }
    }

    /// Runs a case on its own buffers; returns the outcome, and the milliseconds of a run.
    async fn measure(&self, case: &Case, timed: bool) -> Result<(Outcome, f64)> {
        let start = now();
        let run = CaseRun::new(&self.device, case)?;
        run.submit(1);
        let found = run.output().await?;
        let mut ms = now() - start;
        if timed && ms < MAX_MS {
            // The same list runs again. Its results do not matter then, and it takes as long as before, but for
            // compiling.
            let once = self.time(|| run.submit(1)).await?;
            ms = once;
            if once < SLOW_MS {
                ms = (self.time(|| run.submit(REPEATS + 1)).await? - once) / f64::from(REPEATS);
            }
        }
        Ok((case.check(&found), ms.max(0.0)))
    }

    /// Milliseconds until the GPU has done what `submit` submits.
    pub(super) async fn time(&self, submit: impl FnOnce()) -> Result<f64> {
        let start = now();
        submit();
        self.device.finish().await?;
        Ok(now() - start)
    }
}

fn report(case: &Case, outcome: Outcome, ms: f64) -> Report {
    let tolerance = case.expected.tolerance();
    let per_second = |amount: u64| if ms > 0.0 { amount as f64 / ms / 1e6 } else { 0.0 };
    Report {
        status: if outcome.first.is_none() { "passed" } else { "failed" },
        reason: case.failure(&outcome),
        max_abs_error: outcome.max_abs,
        max_rel_error: outcome.max_rel,
        of_limit: outcome.of_limit,
        limit: Some(Limit { abs: tolerance.abs, rel: tolerance.rel }),
        ms,
        gbps: per_second(case.traffic()),
        gflops: per_second(case.flops),
        first: outcome.first.map(|(index, found, expected)| First { index, expected, found }),
    }
}
