// y[r, :, i] = place and prominence of the local maximum that begins at element i of row r          for `findPeaks`
//
// A maximum is a run of equal elements between lower ones. One thread looks at one element: where such a run begins
// there, it goes outwards to the first higher element on each side; what the maximum stands above the higher of the two
// lowest elements on the way is its prominence. Blocks without a higher element are passed over by their extremes, so
// that no walk is longer than a block and the number of blocks.

const WG_SIZE = 256u;
const BLOCK = 256u;

struct Params {
    len: u32,    // elements of x
    length: u32, // of a row
    blocks: u32, // of a row
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [rows, length]
@group(0) @binding(2) var<storage, read> highest: array<f32>; // [rows, blocks]: of BLOCK elements each
@group(0) @binding(3) var<storage, read> lowest: array<f32>;  // [rows, blocks]
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // [rows, 2, length]: 1 + how far behind i the maximum's
                                                              // middle is, or 0 for none; its prominence

// Where the run of elements like element i of a row ends.
fn end_of_run(row: u32, i: u32) -> u32 {
    let height = x[row * params.length + i];
    var at = i + 1u;
    while at < params.length {
        let block = row * params.blocks + at / BLOCK;
        if at % BLOCK == 0u && highest[block] == height && lowest[block] == height {
            at += BLOCK;
            continue;
        }
        // mutant: x[row * params.length + at] != height => x[at] != height
        if x[row * params.length + at] != height {
            break;
        }
        at += 1u;
    }
    return at;
}

// The lowest element from element i of a row leftwards to the first that is higher.
fn lowest_before(row: u32, i: u32) -> f32 {
    let height = x[row * params.length + i];
    var low = height;
    var at = i;
    while at > 0u {
        let block = row * params.blocks + (at - 1u) / BLOCK;
        // mutant: highest[block] <= height => true
        if at % BLOCK == 0u && highest[block] <= height {
            low = min(low, lowest[block]);
            at -= BLOCK;
            continue;
        }
        let value = x[row * params.length + at - 1u];
        if value > height {
            break;
        }
        low = min(low, value);
        at -= 1u;
    }
    return low;
}

// The same rightwards.
fn lowest_behind(row: u32, i: u32) -> f32 {
    let height = x[row * params.length + i];
    var low = height;
    var at = i;
    while at < params.length {
        let block = row * params.blocks + at / BLOCK;
        if at % BLOCK == 0u && highest[block] <= height {
            // mutant: lowest[block] => highest[block]
            low = min(low, lowest[block]);
            at += BLOCK;
            continue;
        }
        let value = x[row * params.length + at];
        if value > height {
            break;
        }
        low = min(low, value);
        at += 1u;
    }
    return low;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let index = (group.y * groups.x + group.x) * WG_SIZE + lane;
    if index >= params.len {
        return;
    }
    let row = index / params.length;
    let i = index % params.length;
    var place = 0.0;
    var prominence = 0.0;
    let height = x[index];
    if i > 0u && x[max(index, 1u) - 1u] < height {
        let end = end_of_run(row, i);
        if end < params.length && x[row * params.length + min(end, params.length - 1u)] < height {
            // mutant: (end - 1u - i) / 2u => (end - i) / 2u
            place = f32(1u + (end - 1u - i) / 2u);
            prominence = height - max(lowest_before(row, i), lowest_behind(row, end - 1u));
        }
    }
    y[row * 2u * params.length + i] = place;
    y[(row * 2u + 1u) * params.length + i] = prominence;
}
