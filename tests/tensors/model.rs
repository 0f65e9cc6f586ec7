use webgguf::harness::Tolerance;
use webgguf::kernels::reference::{self, AttentionRules, Head, ScanInputs};
use webgguf::model::RopeStyle;
use webgguf::{
    AttentionDecodeOptions, AttentionOptions, DType, KvWriteOptions, Pairing, RopeOptions, RopeTableOptions,
    SelectiveScan, SinkhornOptions,
};

use crate::bench::{Bench, check, check_within};

pub async fn rotations() {
    let mut bench = Bench::new(41).await;
    let (x, values) = bench.floats([1, 2, 3, 8]);
    let mut expected = values;
    let frequencies = reference::frequencies(8, 10_000.0, 1.0, None);
    for (i, row) in expected.chunks_mut(8).enumerate() {
        reference::rope(row, 8, 100 + i % 3, &frequencies, RopeStyle::Interleaved);
    }
    let options = RopeOptions { pairing: Pairing::Interleaved, position: 100, ..Default::default() };
    let turned = x.rope(None, &options).unwrap();
    check_within("rope", Tolerance::TURNED, &turned, &[1, 2, 3, 8], expected.clone()).await;
    let table = RopeTableOptions { positions: 104, dims: 8, ..Default::default() };
    let table = bench.device.rope_table(&table).unwrap();
    let turned = x.rope(Some(&table), &options).unwrap();
    check_within("rope of a table", Tolerance::TURNED, &turned, &[1, 2, 3, 8], expected).await;
}

/// Attention of queries `[heads, queries, dim]` over keys and values `[kv heads, keys, dim]`.
fn attended(
    rules: &AttentionRules,
    [q, k, v]: [&[f32]; 3],
    [heads, kv_heads, dim]: [usize; 3],
    mask: impl Fn(usize, usize) -> f32,
) -> Vec<f32> {
    fn rows(x: &[f32], heads: usize, head: usize, dim: usize) -> Vec<&[f32]> {
        x[head * (x.len() / heads)..][..x.len() / heads].chunks(dim).collect()
    }
    let head = |head: usize| {
        let shared = head * kv_heads / heads;
        let [q, k, v] = [rows(q, heads, head, dim), rows(k, kv_heads, shared, dim), rows(v, kv_heads, shared, dim)];
        reference::attention_head(rules, Head { q: &q, k: &k, v: &v }, &mask)
    };
    (0..heads).flat_map(head).collect()
}

pub async fn attention() {
    let mut bench = Bench::new(42).await;
    let ((q, q_values), (k, k_values)) = (bench.floats([1, 4, 5, 12]), bench.floats([1, 2, 7, 12]));
    let ((v, v_values), (mask, mask_values)) = (bench.floats([1, 2, 7, 12]), bench.floats([5, 7]));
    let options = AttentionOptions { window: Some(3), soft_cap: Some(2.0), scale: Some(0.7), ..Default::default() };
    let rules = AttentionRules { causal: true, window: Some(3), scale: 0.7, soft_cap: Some(2.0) };
    let values = [&q_values[..], &k_values, &v_values];
    let expected = attended(&rules, values, [4, 2, 12], |i, j| mask_values[i * 7 + j]);
    let y = q.attention(&k, &v, Some(&mask), &options).unwrap();
    check_within("attention", Tolerance::ATTENTION, &y, &[1, 4, 5, 12], expected).await;
}

pub async fn caches() {
    let mut bench = Bench::new(43).await;
    let [keys, values] = [(); 2].map(|()| bench.device.zeros(DType::F16, [2, 9, 16]).unwrap());
    let ((k, k_values), (v, v_values)) = (bench.floats([2, 5, 12]), bench.floats([2, 5, 12]));
    keys.kv_write(&k, &KvWriteOptions::default()).unwrap();
    values.kv_write(&v, &KvWriteOptions::default()).unwrap();
    let (q, q_values) = bench.floats([4, 12]);
    let options = AttentionDecodeOptions { length: 5, ..Default::default() };
    let y = q.attention_decode(&keys, &values, &options).unwrap();
    let rules = AttentionRules { scale: 12f64.sqrt().recip(), ..Default::default() };
    let expected = attended(&rules, [&q_values, &k_values, &v_values], [4, 2, 12], |_, _| 0.0);
    check_within("attention_decode", Tolerance::HALF_WEIGHTS, &y, &[4, 12], expected).await;
}

pub async fn scans() {
    let mut bench = Bench::new(44).await;
    let ((x, x_values), (delta, deltas)) = (bench.floats([2, 7, 5]), bench.numbers([2, 7, 5], |x| x.abs() + 0.01));
    let ((a, rates), (b, b_values)) = (bench.numbers([5, 3], |x| -x.abs()), bench.floats([2, 7, 3]));
    let ((c, c_values), (d, d_values)) = (bench.floats([2, 7, 3]), bench.floats([5]));
    let (state, states) = bench.floats([2, 5, 3]);
    let inputs = ScanInputs { x: &x_values, delta: &deltas, a: &rates, b: &b_values, c: &c_values, d: &d_values };
    let mut after: Vec<f64> = states.iter().map(|&x| x.into()).collect();
    let expected = reference::selective_scan(&inputs, [2, 7, 5], 3, &mut after);
    let inputs = SelectiveScan { delta: &delta, a: &a, b: &b, c: &c, d: Some(&d), state: Some(&state) };
    let (y, state) = x.selective_scan(&inputs).unwrap();
    check("selective_scan", &y, &[2, 7, 5], expected).await;
    check("its state", &state, &[2, 5, 3], after).await;
}

pub async fn doubly_stochastic() {
    let mut bench = Bench::new(45).await;
    for n in [7, 37] {
        let (x, values) = bench.numbers([2, n, n], |x| x.abs() + 0.1);
        let y = x.sinkhorn(&SinkhornOptions { iterations: Some(9), tolerance: None }).unwrap();
        check("sinkhorn", &y, &[2, n, n], reference::sinkhorn(&values, n as usize, 9, None)).await;
    }
}
