// h_t = exp(Δ_t · A) · h_{t-1} + Δ_t · B_t · x_t,  y_t = C_t · h_t + D · x_t     (Gu & Dao 2023, arXiv 2312.00752)
// with a state h of n numbers per channel. One thread computes one channel of one sequence, ITEMS numbers of its
// state at a time: they stay in registers while it runs along the sequence.

override WG_SIZE: u32 = 64;

struct Params {
    lines: u32,   // batch · channels
    length: u32,
    channels: u32,
    n: u32,
    started: u32, // 1: state holds h_{-1}; 0: that is 0
    skip: u32,    // 1: there is D
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;           // [batch, length, channels]
@group(0) @binding(2) var<storage, read> delta: array<f32>;       // [batch, length, channels]
@group(0) @binding(3) var<storage, read> a: array<f32>;           // [channels, n]
@group(0) @binding(4) var<storage, read> b: array<f32>;           // [batch, length, n]
@group(0) @binding(5) var<storage, read> c: array<f32>;           // [batch, length, n]
@group(0) @binding(6) var<storage, read> d: array<f32>;           // [channels]
@group(0) @binding(7) var<storage, read_write> state: array<f32>; // [batch, channels, n]
@group(0) @binding(8) var<storage, read_write> y: array<f32>;     // [batch, length, channels]

const ITEMS: u32 = 16u;

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let line = (group.y * groups.x + group.x) * WG_SIZE + lane;
    if line >= params.lines {
        return;
    }
    let channel = line % params.channels;
    // mutant: line / params.channels * params.length => line / params.channels
    let first_row = line / params.channels * params.length;
    // mutant: d[min(channel, arrayLength(&d) - 1u)] => d[min(line, arrayLength(&d) - 1u)]
    let through = select(0.0, d[min(channel, arrayLength(&d) - 1u)], params.skip == 1u);
    for (var first = 0u; first < params.n; first += ITEMS) {
        // mutant: min(ITEMS, params.n - first) => ITEMS
        let count = min(ITEMS, params.n - first);
        var h: array<f32, ITEMS>;
        var rate: array<f32, ITEMS>;
        for (var j = 0u; j < ITEMS; j++) {
            if j < count {
                rate[j] = a[channel * params.n + first + j];
                // mutant: params.started == 1u => params.started == 0u
                h[j] = select(0.0, state[line * params.n + first + j], params.started == 1u);
            }
        }
        for (var row = first_row; row < first_row + params.length; row++) {
            let at = row * params.channels + channel;
            let step = delta[at];
            let value = x[at];
            var sum = through * value;
            // mutant: if first > 0u { => if first > ITEMS {
            if first > 0u {
                sum = y[at];
            }
            for (var j = 0u; j < ITEMS; j++) {
                if j < count {
                    let of_row = row * params.n + first + j;
                    h[j] = exp(step * rate[j]) * h[j] + step * b[of_row] * value;
                    sum += c[of_row] * h[j];
                }
            }
            y[at] = sum;
        }
        for (var j = 0u; j < ITEMS; j++) {
            if j < count {
                state[line * params.n + first + j] = h[j];
            }
        }
    }
}
