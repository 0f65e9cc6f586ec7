//! Tables against f64 at near and far positions, with every scaling; rotations with and without a table.

use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference::{self, YarnScaling};
use crate::model::RopeStyle;
use crate::tensor::rope::{Layout, Pairing, RopeOptions, RopeTableOptions, YarnOptions, rope, rope_table};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("rope"));
    let mut cases = table_cases(caps);
    cases.extend(rope_cases(caps, random));
    cases
}

fn table_cases(caps: &Caps) -> Vec<Case> {
    let options = |positions, dims| RopeTableOptions { positions, dims, ..Default::default() };
    let yarn = |factor| plain_yarn(factor, 4096.0);
    let sets = [
        ("base 10,000", options(33, 64)),
        ("one pair", options(1, 2)),
        ("at 100,000, base 500,000", RopeTableOptions { position: 100_000, base: Some(500_000.0), ..options(3, 128) }),
        ("at 99,990, base 10,000", RopeTableOptions { position: 99_990, ..options(31, 254) }),
        ("local base", RopeTableOptions { base: Some(1e6), position: 7, ..options(5, 96) }),
        ("scale 1/4", RopeTableOptions { scale: Some(0.25), position: 100_000, ..options(9, 80) }),
        ("factors", RopeTableOptions { factors: Some((0..16).map(|i| 1.0 + i as f32).collect()), ..options(257, 32) }),
        ("YaRN 8", RopeTableOptions { yarn: Some(yarn(8.0)), position: 99_000, ..options(17, 128) }),
        ("YaRN, own bounds", {
            let (beta_fast, beta_slow, attention_factor) = (Some(8.0), Some(0.5), Some(0.9));
            let yarn = YarnOptions { beta_fast, beta_slow, attention_factor, ..yarn(2.5) };
            RopeTableOptions { yarn: Some(yarn), base: Some(150_000.0), ..options(1000, 64) }
        }),
    ];
    sets.into_iter().map(|(name, options)| table_case(caps, name, &options)).collect()
}

fn plain_yarn(factor: f64, original_context: f64) -> YarnOptions {
    YarnOptions { factor, original_context, beta_fast: None, beta_slow: None, attention_factor: None }
}

fn table_case(caps: &Caps, name: &str, options: &RopeTableOptions) -> Case {
    let mut bench = OpBench::new(caps);
    let table = rope_table(&mut bench.tape, options).expect("good options");
    let (frequencies, factor) = scaled(options);
    let (first, positions) = (options.position as usize, options.positions as usize);
    let expected = reference::rope_table(first, positions, &frequencies, factor);
    let name = format!("{positions}x{}, {name}", options.dims / 2);
    bench.case("rope_table", name, &table, Expected::Close(expected, Tolerance::TABLE))
}

/// Frequencies in radians per position, and the factor of cosines and sines.
fn scaled(options: &RopeTableOptions) -> (Vec<f64>, f64) {
    let base = options.base.unwrap_or(10_000.0);
    let (scale, factors) = (options.scale.unwrap_or(1.0), options.factors.as_deref());
    let mut frequencies = reference::frequencies(options.dims as usize, base as f32, scale as f32, factors);
    let factor = options.yarn.map_or(1.0, |yarn| {
        let betas = (yarn.beta_fast.unwrap_or(32.0), yarn.beta_slow.unwrap_or(1.0));
        let scaling = YarnScaling { factor: yarn.factor, original_context: yarn.original_context, betas };
        let factor = reference::yarn(&mut frequencies, base, &scaling);
        yarn.attention_factor.unwrap_or(factor)
    });
    (frequencies, factor)
}

fn rope_cases(caps: &Caps, random: &mut Random) -> Vec<Case> {
    let options =
        |layout, pairing, dims, position| RopeOptions { layout, pairing, dims, position, ..Default::default() };
    let (halves, neighbours) = (Pairing::SplitHalf, Pairing::Interleaved);
    let sets: [(&[u32], bool, RopeOptions); 9] = [
        (&[2, 5, 3, 64], false, options(Layout::Bshd, halves, None, 0)),
        (&[2, 3, 5, 64], false, options(Layout::Bhsd, halves, None, 100_000)),
        (&[1, 33, 2, 80], true, options(Layout::Bshd, neighbours, None, 11)),
        (&[3, 1, 31, 96], true, options(Layout::Bhsd, halves, None, 0)),
        (&[2, 7, 2, 128], false, options(Layout::Bshd, neighbours, Some(32), 257)),
        (&[7, 33], false, options(Layout::Bhsd, halves, Some(30), 1)),
        (&[1, 1, 1, 2], true, options(Layout::Bshd, halves, None, 1000)),
        (&[2, 3, 6], false, options(Layout::Bshd, neighbours, Some(2), 3)),
        (&[1, 2, 257, 256], false, options(Layout::Bhsd, neighbours, None, 5)),
    ];
    let mut cases: Vec<Case> = sets.into_iter().map(|(x, table, o)| rope_case(caps, random, x, table, o)).collect();
    let yarn = Some(plain_yarn(4.0, 512.0));
    let scaled = RopeOptions { yarn, base: Some(1e6), scale: Some(0.5), position: 999, ..Default::default() };
    cases.push(rope_case(caps, random, &[2, 3, 9, 48], false, scaled));
    // A table of fewer pairs than the head has.
    cases.push(rope_case(caps, random, &[2, 4, 3, 40], true, options(Layout::Bshd, halves, Some(24), 2)));
    cases
}

/// With `table`, a table is made first, whose rows go past those needed.
fn rope_case(caps: &Caps, random: &mut Random, shape: &[u32], table: bool, mut options: RopeOptions) -> Case {
    let size = options.layout.sizes(shape).expect("two to four axes");
    let of_table = RopeTableOptions {
        positions: options.position + size.positions + 3,
        dims: options.dims.unwrap_or(size.dim),
        base: options.base,
        scale: options.scale,
        factors: options.factors.clone(),
        yarn: options.yarn,
        position: 0,
    };
    let mut bench = OpBench::new(caps);
    let values = random.floats(shape.iter().product::<u32>() as usize);
    let x = bench.floats(shape, &values);
    let table = table.then(|| rope_table(&mut bench.tape, &of_table).expect("good options"));
    let dims = options.dims;
    if table.is_some() {
        options.dims = None;
    }
    let y = rope(&mut bench.tape, &x, table.as_ref(), &options).expect("shapes fit");

    let (frequencies, factor) = scaled(&of_table);
    let style = if options.pairing == Pairing::SplitHalf { RopeStyle::SplitHalf } else { RopeStyle::Interleaved };
    let mut expected = values;
    for (row, head) in expected.chunks_exact_mut(size.dim as usize).enumerate() {
        let token = match options.layout {
            Layout::Bhsd => row as u32 % size.positions,
            Layout::Bshd => row as u32 / size.heads % size.positions,
        };
        reference::rope(head, size.dim as usize, (options.position + token) as usize, &frequencies, style);
        let turned = 2 * frequencies.len();
        head[..turned].iter_mut().for_each(|value| *value *= factor as f32);
    }
    let RopeOptions { layout, pairing, position, .. } = options;
    let name = format!("{shape:?} {layout:?}, {pairing:?}, {dims:?} turning, at {position}");
    bench.case("rope", name, &y, Expected::Close(expected, Tolerance::TURNED))
}
