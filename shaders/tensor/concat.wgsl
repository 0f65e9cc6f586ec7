// y[r, start + c] = x[r, c]: one input of a concatenation, into its columns of y. Rows are the axes before the one that
// is joined, columns that axis and those after it.
// One thread writes one word of y, a workgroup WG_SIZE.

override WG_SIZE: u32 = 256;
override SIXTEEN_BIT: bool; // elements are 16 bits, two to a word

struct Params {
    rows: u32,
    columns: u32,   // of x
    y_columns: u32, // of y
    start: u32,     // column of y that column 0 of x becomes
    words: u32,     // words of y that a row of x touches at most
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [rows, columns] words, or halves in pairs
@group(0) @binding(2) var<storage, read_write> y: array<u32>; // [rows, y_columns], likewise

// Two halves from element `even` of y on: those within the row's part, which starts at `first`, come from x. The
// other half of the word with the last element of y becomes 0.
fn merged(even: u32, first: u32, row: u32) -> u32 {
    var bits = y[even / 2u];
    for (var side = 0u; side < 2u; side += 1u) {
        let element = even + side;
        // mutant: element < first + params.columns { => element <= first + params.columns {
        if element >= first && element < first + params.columns {
            let at = row * params.columns + element - first;
            let value = (x[at / 2u] >> (16u * (at & 1u))) & 0xffffu;
            bits = insertBits(bits, value, 16u * side, 16u);
        }
    }
    // mutant: bits & 0xffffu, even + 1u == => bits & 0xffffu, even + 2u ==
    return select(bits, bits & 0xffffu, even + 1u == params.rows * params.y_columns);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = (group.y * groups.x + group.x) * WG_SIZE + lane;
    let row = i / params.words;
    let word = i % params.words;
    if row >= params.rows {
        return;
    }
    // mutant: row * params.y_columns + params.start => row * params.y_columns
    let first = row * params.y_columns + params.start;
    if !SIXTEEN_BIT {
        y[first + word] = x[row * params.columns + word];
        return;
    }
    // mutant: 2u * (first / 2u + word) => first + 2u * word
    let even = 2u * (first / 2u + word);
    if even < first + params.columns {
        y[even / 2u] = merged(even, first, row);
    }
}
