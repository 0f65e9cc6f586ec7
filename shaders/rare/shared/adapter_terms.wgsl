// What an adapter adds to products of one column: B · t, with t = scale · A · x from lora_a_row. W holds the matrices
// of up to four products one after the other, of which the adapter changes those that segments name.

override ADAPTER_OUTPUT_0: u32; // element of y where the segment begins; with SWIGLU as if gate and up were written
override ADAPTER_OUTPUTS_0: u32; // rows of its B
override ADAPTER_FIRST_0: u32;  // its first value of t
override ADAPTER_RANK_0: u32;   // columns of its B
override ADAPTER_AT_0: u32;     // element of `adapter` where its B begins
override ADAPTER_OUTPUT_1: u32;
override ADAPTER_OUTPUTS_1: u32; // 0: there is no such segment
override ADAPTER_FIRST_1: u32;
override ADAPTER_RANK_1: u32;
override ADAPTER_AT_1: u32;
override ADAPTER_OUTPUT_2: u32;
override ADAPTER_OUTPUTS_2: u32;
override ADAPTER_FIRST_2: u32;
override ADAPTER_RANK_2: u32;
override ADAPTER_AT_2: u32;
override ADAPTER_OUTPUT_3: u32;
override ADAPTER_OUTPUTS_3: u32;
override ADAPTER_FIRST_3: u32;
override ADAPTER_RANK_3: u32;
override ADAPTER_AT_3: u32;

@group(0) @binding(8) var<storage, read> adapter: array<f32>; // t, then B of each segment

struct Segment {
    first: u32,
    rank: u32,  // 0: no segment has the row
    start: u32, // element of `adapter` where the row of B begins
}

// A segment of these numbers where one of its outputs is `output`, counted from its first; else `found`.
fn segment_of(found: Segment, output: u32, outputs: u32, first: u32, rank: u32, at: u32) -> Segment {
    // mutant (mat_vec, mat_vec_split): output < outputs => output <= outputs
    if output < outputs {
        return Segment(first, rank, at + output * rank);
    }
    return found;
}

// The share of one of `lanes` threads in what is added to the sum of row `row` of W.
fn adapter_sum(row: u32, lane: u32, lanes: u32) -> f32 {
    // An output before a segment, less the segment's first, wraps around: it is no output of that segment.
    // mutant (mat_vec, mat_vec_split): params.y_offset + params.first_row + row => params.y_offset + row
    let output = params.y_offset + params.first_row + row;
    var own = Segment();
    own = segment_of(own, output - ADAPTER_OUTPUT_0, ADAPTER_OUTPUTS_0, ADAPTER_FIRST_0, ADAPTER_RANK_0, ADAPTER_AT_0);
    own = segment_of(own, output - ADAPTER_OUTPUT_1, ADAPTER_OUTPUTS_1, ADAPTER_FIRST_1, ADAPTER_RANK_1, ADAPTER_AT_1);
    own = segment_of(own, output - ADAPTER_OUTPUT_2, ADAPTER_OUTPUTS_2, ADAPTER_FIRST_2, ADAPTER_RANK_2, ADAPTER_AT_2);
    own = segment_of(own, output - ADAPTER_OUTPUT_3, ADAPTER_OUTPUTS_3, ADAPTER_FIRST_3, ADAPTER_RANK_3, ADAPTER_AT_3);
    var sum = 0.0;
    // mutant (mat_vec, mat_vec_split): r += lanes => r += 2u * lanes
    for (var r = lane; r < own.rank; r += lanes) {
        // mutant (mat_vec, mat_vec_split): own.first + r => r
        sum += adapter[own.start + r] * adapter[own.first + r];
    }
    return sum;
}
