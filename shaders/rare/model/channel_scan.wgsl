// Mamba's recurrence (Gu & Dao 2023, arXiv 2312.00752) along the rows of a pass, of any sequences. Per channel, with a
// state h of STATE numbers, each with a decay A of its own, and B and C shared by all channels:
//   dt = softplus(dt),  h = exp(dt * A) * h + dt * B * x,  y = (C · h + D * x) * silu(z)
// One thread computes one channel along the rows of one sequence.

#import pass

override WG_SIZE: u32 = 64;
override CHANNELS: u32;
override STATE: u32;
override Z_STRIDE: u32;  // values from one row to the next
override Z_AT: u32;      // value of a row where z starts
override BC_STRIDE: u32;
override B_AT: u32;
override C_AT: u32;

struct Params {
    unused: u32,
}

#import silu
#import softplus

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<f32>;           // [rows, CHANNELS]
@group(0) @binding(3) var<storage, read> z: array<f32>;           // [rows, Z_STRIDE]
@group(0) @binding(4) var<storage, read> dt: array<f32>;          // [rows, CHANNELS]
@group(0) @binding(5) var<storage, read> bc: array<f32>;          // [rows, BC_STRIDE]: B and C [STATE] each
@group(0) @binding(6) var<storage, read> of_channels: array<f32>; // A [CHANNELS, STATE], then D [CHANNELS]
@group(0) @binding(7) var<storage, read_write> state: array<f32>; // [sequences, STATE, CHANNELS]
@group(0) @binding(8) var<storage, read_write> y: array<f32>;     // [rows, CHANNELS]

// One token's step of a channel.
fn advance(row: u32, channel: u32) {
    let here = this_pass.row[row];
    let at = row * CHANNELS + channel;
    let step = softplus(dt[at]);
    var sum = of_channels[CHANNELS * STATE + channel] * x[at];
    for (var n = 0u; n < STATE; n += 1u) {
        // mutant: here.sequence * STATE + n => n
        let i = (here.sequence * STATE + n) * CHANNELS + channel;
        // mutant: here.position == 0u => here.position == 1u
        let before = select(state[i], 0.0, here.position == 0u);
        let h = exp(step * of_channels[channel * STATE + n]) * before + step * bc[row * BC_STRIDE + B_AT + n] * x[at];
        state[i] = h;
        sum += h * bc[row * BC_STRIDE + C_AT + n];
    }
    y[at] = sum * silu(z[row * Z_STRIDE + Z_AT + channel]);
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let sequence = this_pass.row[group.y].sequence;
    for (var row = 0u; row < group.y; row += 1u) {
        // The workgroup of that row takes this one along.
        // mutant: == sequence { => > 9u {
        if this_pass.row[row].sequence == sequence {
            return;
        }
    }
    let channel = group.x * WG_SIZE + lane;
    // mutant: if channel >= CHANNELS { => if channel > CHANNELS {
    if channel >= CHANNELS {
        return;
    }
    for (var row = group.y; row < this_pass.rows; row += 1u) {
        let here = this_pass.row[row];
        if here.sequence == sequence && (here.flags & ROW_DONE) == 0u {
            advance(row, channel);
        }
    }
}
