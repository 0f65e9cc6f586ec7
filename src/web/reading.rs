//! The reading speed on `www/kernels.html`: how fast products of large matrices read their weights.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::Harness;
use super::errors::{to_js, to_value};
use crate::gpu::LargeRun;
use crate::harness::{Large, large};
use crate::sort::sort_by;
use crate::{Error, ErrorCode, Result};

/// The names of a product.
#[derive(Serialize)]
struct Entry<'a> {
    variant: &'a str,
    name: &'a str,
    bytes: u64,
    needs: Option<&'a str>,
}

/// The measured speed of a product.
#[derive(Serialize)]
struct Reading {
    bytes: u64,
    ms: f64,
    gbps: f64,
}

/// Duration of a submit in milliseconds that is long enough for the clock.
const ENOUGH_MS: f64 = 60.0;

/// Maximum number of runs in a submit.
const MAX_RUNS: u32 = 4096;

/// Number of measurements, of which the median counts.
const MEASUREMENTS: usize = 5;

#[wasm_bindgen]
impl Harness {
    /// Lists the products of large matrices, which have `min_bytes` or 256 MiB.
    pub fn large(&self, min_bytes: Option<u32>) -> std::result::Result<JsValue, JsValue> {
        let products = self.products(min_bytes);
        let entries = products.iter().map(|Large { variant, name, bytes, needs, .. }| Entry {
            variant,
            name,
            bytes: *bytes,
            needs: needs.as_deref(),
        });
        to_value(&entries.collect::<Vec<_>>())
    }

    /// Measures product `index` of the list that `large` returns.
    pub async fn read(&self, index: usize, min_bytes: Option<u32>) -> std::result::Result<JsValue, JsValue> {
        let products = self.products(min_bytes);
        let missing = || to_js(Error::invalid_argument(format!("product {index} of {}", products.len())));
        let product = products.get(index).ok_or_else(missing)?;
        let ms = self.ms_per_run(product).await.map_err(to_js)?;
        to_value(&Reading { bytes: product.bytes, ms, gbps: product.bytes as f64 / ms / 1e6 })
    }
}

impl Harness {
    fn products(&self, min_bytes: Option<u32>) -> Vec<Large> {
        large(&self.device.caps, min_bytes.unwrap_or(Large::MIN_BYTES))
    }

    /// Milliseconds of a run. Measures the difference between some runs and twice as many, so that launch and wait
    /// cancel out. `readBandwidth` in `www/bench/meter.js`, with which the result is compared, measures in the same
    /// way.
    async fn ms_per_run(&self, product: &Large) -> Result<f64> {
        let run = LargeRun::new(&self.device, product)?;
        run.check().await?;
        let mut repeats = 1;
        while repeats < MAX_RUNS && self.time(|| run.submit(repeats)).await? < ENOUGH_MS {
            repeats *= 2;
        }
        let mut differences = vec![0.0; MEASUREMENTS];
        for difference in &mut differences {
            let once = self.time(|| run.submit(repeats)).await?;
            *difference = (self.time(|| run.submit(2 * repeats)).await? - once) / f64::from(repeats);
        }
        sort_by(&mut differences, |a: f64, b| a < b);
        let ms = differences[MEASUREMENTS / 2];
        let coarse = || Error::new(ErrorCode::LimitExceeded, "the clock is too coarse for this device");
        (ms > 0.0).then_some(ms).ok_or_else(coarse)
    }
}
