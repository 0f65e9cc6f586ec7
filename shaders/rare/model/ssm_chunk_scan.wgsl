// Mamba-2's recurrence for the rows of a pass of one sequence, by chunks of CHUNK tokens (state-space duality, Dao & Gu
// 2024, arXiv 2405.21060; see ssm_scan.wgsl for the recurrence). With s_t the sum of dt * A up to token t of a chunk
// and h the state before it:
//   C_t · h_t = exp(s_t) C_t · h + sum over i <= t of exp(s_t - s_i) (C_t · B_i) dt_i x_i
// A workgroup computes COLUMNS times four values of one head along all chunks; the state stays in workgroup memory.

#import pass

override WG_SIZE: u32 = 256;
override CHUNK: u32 = 64;   // at most WG_SIZE
override COLUMNS: u32;      // of four values; STATE * COLUMNS is at most 512
override HEADS: u32;
override HEAD_DIM: u32;
override STATE: u32;
override GROUPS: u32;       // divides HEADS
override STRIDE: u32;       // values from one row of zdt to the next
override Z_AT: u32;         // where in a row z starts
override DT_AT: u32;        // and where dt
override TILES: u32 = (HEAD_DIM + 4 * COLUMNS - 1) / (4 * COLUMNS);

struct Params {
    unused: u32,
}

#import silu
#import softplus

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> zdt: array<f32>;         // [rows, STRIDE]: z [HEADS, HEAD_DIM], dt [HEADS]
@group(0) @binding(3) var<storage, read> xbc: array<f32>;         // [rows, x [HEADS, HEAD_DIM], B, C [GROUPS, STATE]]
@group(0) @binding(4) var<storage, read> heads: array<f32>;       // [3, HEADS]: bias of dt, A, D
@group(0) @binding(5) var<storage, read> products: array<f32>;    // [chunks, GROUPS, CHUNK, CHUNK]: C_t · B_i
@group(0) @binding(6) var<storage, read_write> state: array<f32>; // [sequences, HEADS, STATE, HEAD_DIM]
@group(0) @binding(7) var<storage, read_write> y: array<f32>;     // [rows, HEADS, HEAD_DIM]

#import ssm_rows

var<workgroup> h: array<vec4<f32>, STATE * COLUMNS>;
var<workgroup> inputs: array<vec4<f32>, CHUNK * COLUMNS>; // dt x
var<workgroup> steps: array<f32, CHUNK>;                  // dt
var<workgroup> sums: array<f32, CHUNK>;                   // s

fn x4_of(row: u32, head: u32, at: u32) -> vec4<f32> {
    var x = vec4<f32>(0.0);
    for (var j = 0u; j < 4u; j++) {
        // mutant: at + j < HEAD_DIM { => at + j + 1u < HEAD_DIM {
        if at + j < HEAD_DIM {
            x[j] = x_of(row, head, at + j);
        }
    }
    return x;
}

// dt, dt x and s of the chunk's tokens.
fn load_chunk(first: u32, count: u32, head: u32, tile: u32, lane: u32) {
    if lane < count {
        steps[lane] = time_step(first + lane, head);
    }
    workgroupBarrier();
    if lane < count {
        var sum = 0.0;
        for (var i = 0u; i <= lane; i++) {
            sum += steps[i];
        }
        sums[lane] = sum * heads[HEADS + head];
    }
    for (var i = lane; i < count * COLUMNS; i += WG_SIZE) {
        inputs[i] = steps[i / COLUMNS] * x4_of(first + i / COLUMNS, head, tile + 4u * (i % COLUMNS));
    }
    workgroupBarrier();
}

fn output(chunk: u32, t: u32, head: u32, column: u32) -> vec4<f32> {
    let row = chunk * CHUNK + t;
    var sum = vec4<f32>(0.0);
    for (var n = 0u; n < STATE; n++) {
        sum += c_of(row, head, n) * h[n * COLUMNS + column];
    }
    sum *= exp(sums[t]);
    let start = ((chunk * GROUPS + head / (HEADS / GROUPS)) * CHUNK + t) * CHUNK;
    // mutant: i <= t; i++ => i < t; i++
    for (var i = 0u; i <= t; i++) {
        sum += products[start + i] * exp(sums[t] - sums[i]) * inputs[i * COLUMNS + column];
    }
    return sum;
}

fn store_outputs(chunk: u32, count: u32, head: u32, tile: u32, lane: u32) {
    for (var i = lane; i < count * COLUMNS; i += WG_SIZE) {
        let row = chunk * CHUNK + i / COLUMNS;
        let sum = output(chunk, i / COLUMNS, head, i % COLUMNS);
        for (var j = 0u; j < 4u; j++) {
            let at = tile + 4u * (i % COLUMNS) + j;
            if at < HEAD_DIM {
                y[(row * HEADS + head) * HEAD_DIM + at] = gated(row, head, at, sum[j]);
            }
        }
    }
    workgroupBarrier();
}

fn advance(chunk: u32, count: u32, head: u32, lane: u32) {
    let last = sums[count - 1u];
    for (var i = lane; i < STATE * COLUMNS; i += WG_SIZE) {
        // mutant: exp(last) * h[i] => h[i]
        var sum = exp(last) * h[i];
        for (var t = 0u; t < count; t++) {
            let row = chunk * CHUNK + t;
            sum += exp(last - sums[t]) * b_of(row, head, i / COLUMNS) * inputs[t * COLUMNS + i % COLUMNS];
        }
        h[i] = sum;
    }
    workgroupBarrier();
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x / TILES;
    let tile = group.x % TILES * 4u * COLUMNS;
    let start = (this_pass.row[0].sequence * HEADS + head) * STATE * HEAD_DIM + tile;
    for (var i = lane; i < STATE * COLUMNS; i += WG_SIZE) {
        h[i] = vec4<f32>(0.0);
        for (var j = 0u; j < 4u; j++) {
            // mutant: this_pass.row[0].position > 0u => this_pass.row[0].position > 1u
            if this_pass.row[0].position > 0u && tile + 4u * (i % COLUMNS) + j < HEAD_DIM {
                h[i][j] = state[start + i / COLUMNS * HEAD_DIM + 4u * (i % COLUMNS) + j];
            }
        }
    }
    for (var first = 0u; first < this_pass.rows; first += CHUNK) {
        let count = min(CHUNK, this_pass.rows - first);
        load_chunk(first, count, head, tile, lane);
        store_outputs(first / CHUNK, count, head, tile, lane);
        advance(first / CHUNK, count, head, lane);
    }
    for (var i = lane; i < STATE * COLUMNS; i += WG_SIZE) {
        for (var j = 0u; j < 4u; j++) {
            if tile + 4u * (i % COLUMNS) + j < HEAD_DIM {
                state[start + i / COLUMNS * HEAD_DIM + 4u * (i % COLUMNS) + j] = h[i][j];
            }
        }
    }
}
