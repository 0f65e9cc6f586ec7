//! Rows in slots and rows in none, of sequences that are done and of others; ids that are no rows.

use crate::harness::{Bench, Case, Expected, Suite};
use crate::kernels::find_rows::find_rows;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference;

/// Rows of the table.
const ROWS: u32 = 37;

pub(crate) fn cases(_: &Suite) -> Vec<Case> {
    [vec![case("one row", 1, 1), case("a row in no slot", 1, 3)], vec![case("many rows", 67, 67), several()]].concat()
}

/// Slot + 1 of each row of the table; every third is in none.
fn slots() -> Vec<u32> {
    (0..ROWS).map(|row| if row % 3 == 0 { 0 } else { 1 + row * 7 % ROWS }).collect()
}

/// A chunk of `count` tokens from `first` on, and one row more than the pass has.
fn case(name: &str, count: u32, first: u32) -> Case {
    let tokens: Vec<u32> = (0..=count).map(|i| (first + i * 5) % (ROWS + 3)).collect();
    let mut pass = Pass::chunk(0, 2, &tokens);
    pass.header.rows = count;
    pass.header.outputs = 1;
    run(name, pass)
}

/// Sequences of which some wait, some are done, and some go on.
fn several() -> Case {
    let row = |(sequence, token): (u32, u32)| Row { token, position: 9 + sequence, sequence, flags: 0 };
    let rows: Vec<Row> = [(5, 4), (1, 6), (2, ROWS), (3, u32::MAX), (4, 9), (0, 8)].into_iter().map(row).collect();
    let mut pass = Pass::decode(&rows);
    (pass.rows[4].flags, pass.header.sequences[4].done) = (ROW_DONE, 1);
    // Flags of the pass before.
    pass.rows[0].flags = 3 << 1;
    run("several sequences", pass)
}

fn run(name: &str, pass: Pass) -> Case {
    let slots = slots();
    let mut expected = pass.clone();
    reference::find_rows(&mut expected, &slots);
    let mut bench = Bench::of(pass);
    let table = bench.bytes(bytemuck::cast_slice(&slots));
    let (pass, _) = bench.fixed();
    let expected = expected.bytes().chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    bench.case(name.into(), vec![find_rows(pass, ROWS, table.into())], Bench::PASS, Expected::Exact(expected))
}
