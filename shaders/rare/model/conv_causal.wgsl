// y[t] = conv(x)[t] = sum_j weight[j] * x[t - KERNEL + 1 + AHEAD + j], for each channel by itself: a depthwise
// convolution along the tokens of a sequence. With AHEAD = 0 it is causal, as in Mamba (Gu & Dao 2023, arXiv
// 2312.00752). Otherwise y[t] depends on AHEAD later rows, too; then the pass has all rows of the sequence, and rows
// past the last one are zero. Options: bias and SiLU on the result; gates, y = c * conv(b * x), as in LFM2 (arXiv
// 2511.23404).
// What lies before the rows of the pass is in the state, and zero before the first token of a sequence.
// A workgroup computes WG_SIZE channels of ROWS rows. KEEP leaves the last inputs of each sequence in the state: the
// workgroup must then have all rows that store, or none must store (STORE false).

#import pass

override WG_SIZE: u32 = 64;
override KERNEL: u32;
override AHEAD: u32;    // less than KERNEL
override CHANNELS: u32;
override ROWS: u32;     // rows of a workgroup; KEEP reads this many of the last rows
override X_STRIDE: u32; // values from one row of x to the next
override X_AT: u32;     // where in a row the channels start
override B_AT: u32;     // the same of the gates
override C_AT: u32;
override GATED: bool;
override WEIGHTED: bool; // else the result is the first of the KERNEL inputs
override BIAS: bool;
override SILU: bool;
override STORE: bool;
override KEEP: bool;

struct Params {
    unused: u32,
}

#import silu

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<f32>;           // [rows, X_STRIDE]
@group(0) @binding(3) var<storage, read> weight: array<f32>;      // [CHANNELS, KERNEL]
@group(0) @binding(4) var<storage, read> bias: array<f32>;        // [CHANNELS]
@group(0) @binding(5) var<storage, read_write> state: array<f32>; // [sequences, KERNEL - 1, CHANNELS], the oldest first
@group(0) @binding(6) var<storage, read_write> y: array<f32>;     // [rows, CHANNELS]

fn input(row: u32, channel: u32) -> f32 {
    let start = row * X_STRIDE + channel;
    if GATED {
        return x[start + X_AT] * x[start + B_AT];
    }
    return x[start + X_AT];
}

// The input `back` tokens before that of `row`. Rows of a sequence follow each other, others may be in between.
fn input_before(row: u32, back: u32, channel: u32) -> f32 {
    let here = this_pass.row[row];
    // mutant: back > here.position => back > here.position + 1u
    if back > here.position {
        return 0.0;
    }
    var at = row;
    var left = back;
    while left > 0u && at > 0u {
        at--;
        // mutant: this_pass.row[at].sequence == here.sequence => true
        left -= select(0u, 1u, this_pass.row[at].sequence == here.sequence);
    }
    if left == 0u {
        return input(at, channel);
    }
    // mutant: here.sequence * (KERNEL - 1u) + => 0u +
    return state[(here.sequence * (KERNEL - 1u) + KERNEL - 1u - left) * CHANNELS + channel];
}

// The input that the kernel's value j is for.
fn tap(row: u32, j: u32, channel: u32) -> f32 {
    let at = j + AHEAD + 1u;
    if at <= KERNEL {
        return input_before(row, KERNEL - at, channel);
    }
    // mutant: at - KERNEL => at + 1u - KERNEL
    let behind = row + at - KERNEL;
    if behind < this_pass.rows {
        return input(behind, channel);
    }
    return 0.0;
}

fn store(row: u32, channel: u32) {
    var sum = 0.0;
    if BIAS {
        sum = bias[channel];
    }
    if !WEIGHTED {
        // mutant: input_before(row, KERNEL - 1u, channel); => input_before(row, KERNEL, channel);
        sum += input_before(row, KERNEL - 1u, channel);
    }
    for (var j = 0u; WEIGHTED && j < KERNEL; j++) {
        sum += weight[channel * KERNEL + j] * tap(row, j, channel);
    }
    if SILU {
        sum = silu(sum);
    }
    if GATED {
        sum *= x[row * X_STRIDE + C_AT + channel];
    }
    y[row * CHANNELS + channel] = sum;
}

// The inputs up to that of `row`: each is read before its place is written, the oldest first.
fn keep(row: u32, channel: u32) {
    for (var i = 0u; i < KERNEL - 1u; i++) {
        let value = input_before(row, KERNEL - 2u - i, channel);
        state[(this_pass.row[row].sequence * (KERNEL - 1u) + i) * CHANNELS + channel] = value;
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let channel = group.x * WG_SIZE + lane;
    // mutant: channel >= CHANNELS => channel > CHANNELS
    if channel >= CHANNELS {
        return;
    }
    if STORE {
        let first = group.y * ROWS;
        for (var row = first; row < min(first + ROWS, this_pass.rows); row++) {
            // mutant: & ROW_DONE) == 0u { => & ROW_DONE) < 2u {
            if (this_pass.row[row].flags & ROW_DONE) == 0u {
                store(row, channel);
            }
        }
    }
    if KEEP {
        var seen = 0u;
        for (var n = 1u; n <= min(ROWS, this_pass.rows); n++) {
            let row = this_pass.rows - n;
            let sequence = 1u << this_pass.row[row].sequence;
            if (this_pass.row[row].flags & ROW_DONE) != 0u {
                continue;
            }
            if (seen & sequence) == 0u {
                keep(row, channel);
            }
            // mutant: seen |= sequence => seen |= 0u
            seen |= sequence;
        }
    }
}
