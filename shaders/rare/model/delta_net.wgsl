// The gated delta rule (Yang et al. 2024, arXiv 2412.06464): each value head has a state S of HEAD_DIM² numbers, and
//   S = e^g S,  S = S + k ⊗ β (v − Sᵀ k),  o = Sᵀ q        with β = σ(beta), g = a · log(1 + e^(alpha + dt_bias))
// where q and k are scaled to length 1 and q is divided by √HEAD_DIM. One workgroup keeps COLUMNS columns of the state
// of one head of one sequence in registers while it runs along the sequence's rows in the pass; PARTS threads share a
// column. A row wants Sᵀ k and Sᵀ q of the old S only: o = e^g Sᵀ q + (k · q) w, S = e^g S + k ⊗ w.

#import pass

override WG_SIZE: u32;
override K_HEADS: u32;
override V_HEADS: u32;     // a multiple of K_HEADS
override HEAD_DIM: u32;
override TILED: bool;      // value head h reads key head h % K_HEADS, not h / (V_HEADS / K_HEADS)
override EPS: f32;         // added to the squared lengths of q and k
override PARTS: u32;       // threads of a column: a power of two
override ITEMS: u32;       // vectors of a column that a thread holds: at most MAX_ITEMS
override TILE: u32;        // rows that are read together: divides WG_SIZE
override WIDTH: u32 = PARTS * ITEMS; // vectors of a column, HEAD_DIM values and zeros
override COLUMNS: u32 = WG_SIZE / PARTS;
override BLOCKS: u32 = (HEAD_DIM + COLUMNS - 1) / COLUMNS; // workgroups of a head
override SLICES: u32 = WG_SIZE / TILE; // threads that read a row
override TILE_WIDTH: u32 = TILE * WIDTH;
override TILE_COLUMNS: u32 = TILE * COLUMNS;
override ROW: u32 = (2 * K_HEADS + V_HEADS) * HEAD_DIM;

struct Params {
    beta_at: u32,      // the first value of a row, and values from one row to the next
    beta_stride: u32,
    alpha_at: u32,
    alpha_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;     // [rows, ROW]: heads of q, of k, of v
@group(0) @binding(3) var<storage, read> beta: array<f32>;    // [rows, V_HEADS] by params
@group(0) @binding(4) var<storage, read> alpha: array<f32>;   // [rows, V_HEADS] by params
@group(0) @binding(5) var<storage, read> dt_bias: array<f32>; // [V_HEADS]
@group(0) @binding(6) var<storage, read> a: array<f32>;       // [V_HEADS], below 0
@group(0) @binding(7) var<storage, read_write> state: array<vec4<f32>>; // [sequences, V_HEADS, HEAD_DIM, WIDTH]: Sᵀ
@group(0) @binding(8) var<storage, read_write> y: array<f32>; // [rows, V_HEADS, HEAD_DIM]

#import sequence_rows
#import delta_rows
#import column_sums

const MAX_ITEMS: u32 = 8u;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x / BLOCKS;
    let first_column = group.x % BLOCKS * COLUMNS;
    let rows = rows_of(group.y, lane);
    // mutant: rows.y == 0u => rows.y == 1u
    if rows.y == 0u {
        return;
    }
    let part = lane % PARTS;
    let column = first_column + lane / PARTS;
    // mutant: (group.y * V_HEADS + head) => head
    let start = ((group.y * V_HEADS + head) * HEAD_DIM + column) * WIDTH + part;
    // mutant: position > 0u => position > 1u
    let started = this_pass.row[rows.x].position > 0u && column < HEAD_DIM;
    var s: array<vec4<f32>, MAX_ITEMS>;
    for (var j = 0u; j < ITEMS; j++) {
        if started {
            s[j] = state[start + j * PARTS];
        }
    }
    for (var base = rows.x; base < rows.y; base += TILE) {
        read_rows(base, rows.y, head, first_column, lane);
        workgroupBarrier();
        if lane < TILE {
            factors[lane] = factors_of(lane, base + lane, rows.y, head, group.y);
        }
        workgroupBarrier();
        for (var t = 0u; t < min(TILE, rows.y - base); t++) {
            var sums = vec2<f32>();
            for (var j = 0u; j < ITEMS; j++) {
                let at = t * WIDTH + j * PARTS + part;
                sums += vec2<f32>(dot(s[j], k_tile[at]), dot(s[j], q_tile[at]));
            }
            sums = column_sums(sums, t, lane);
            let f = factors[t];
            if f.live == 1u {
                let w = f.of_v * v_tile[t * COLUMNS + lane / PARTS] - f.of_k * sums.x;
                for (var j = 0u; j < ITEMS; j++) {
                    s[j] = f.decay * s[j] + w * k_tile[t * WIDTH + j * PARTS + part];
                }
                // mutant: && column < HEAD_DIM => && column <= HEAD_DIM
                if part == 0u && column < HEAD_DIM {
                    y[((base + t) * V_HEADS + head) * HEAD_DIM + column] = f.of_q * sums.y + f.of_w * w;
                }
            }
        }
        workgroupBarrier();
    }
    for (var j = 0u; j < ITEMS; j++) {
        if column < HEAD_DIM {
            state[start + j * PARTS] = s[j];
        }
    }
}
