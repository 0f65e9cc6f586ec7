// RWKV's time mixing along the rows of a pass: each head has a state S of HEAD_DIM² numbers. RWKV-7 (Peng et al. 2025,
// arXiv 2503.14456), with a = -kk and b = kk * rate, kk being k * K_K scaled to length 1:
//   S = diag(w) S + k vᵀ + b (aᵀ S),  y = Sᵀ r      w = exp(-0.606531 σ(w)), k = k (1 + (rate - 1) K_A), rate = σ(rate)
// RWKV-6 (Peng et al. 2024, arXiv 2404.05892), and with GATED a gated linear attention of keys k (1 - w):
//   y = Sᵀ r + v (r · U k),  S = diag(w) S + k vᵀ                              w = exp(-exp(w))
// One workgroup keeps COLUMNS columns of S of one head of one sequence in registers while it runs along the sequence's
// rows in the pass; PARTS threads share a column. A row wants products with the old S only, as in `delta_net`.

#import pass

override WG_SIZE: u32;
override HEADS: u32;       // a multiple of KV_HEADS
override KV_HEADS: u32;
override HEAD_DIM: u32;
override FORM: u32;        // 0: RWKV-6, 1: GATED, 2: RWKV-7
override PARTS: u32;       // threads of a column: a power of two
override ITEMS: u32;       // vectors of a column that a thread holds: at most MAX_ITEMS
override TILE: u32;        // rows that are read together: divides WG_SIZE
override WIDTH: u32 = PARTS * ITEMS; // vectors of a column, HEAD_DIM values and zeros
override COLUMNS: u32 = WG_SIZE / PARTS;
override BLOCKS: u32 = (HEAD_DIM + COLUMNS - 1) / COLUMNS; // workgroups of a head
override SLICES: u32 = WG_SIZE / TILE; // threads that read a row
override TILE_WIDTH: u32 = TILE * WIDTH;
override TILE_COLUMNS: u32 = TILE * COLUMNS;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> r: array<f32>;        // [rows, HEADS, HEAD_DIM]
@group(0) @binding(3) var<storage, read> w: array<f32>;        // [rows, HEADS, HEAD_DIM]; RWKV-7: each w, then rate
@group(0) @binding(4) var<storage, read> k: array<f32>;        // [rows, KV_HEADS, HEAD_DIM]
@group(0) @binding(5) var<storage, read> v: array<f32>;        // [rows, KV_HEADS, HEAD_DIM]
@group(0) @binding(6) var<storage, read> of_heads: array<f32>; // [HEADS, HEAD_DIM]: U, or K_K, then K_A
@group(0) @binding(7) var<storage, read_write> state: array<vec4<f32>>; // [sequences, HEADS, HEAD_DIM, WIDTH]: Sᵀ
@group(0) @binding(8) var<storage, read_write> y: array<f32>;  // [rows, HEADS, HEAD_DIM]

#import sequence_rows
#import wkv_key
#import wkv_rows
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
    // mutant: (group.y * HEADS + head) => head
    let start = ((group.y * HEADS + head) * HEAD_DIM + column) * WIDTH + part;
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
            factors[lane] = factors_of(lane, base + lane, rows.y, group.y);
        }
        workgroupBarrier();
        for (var t = 0u; t < min(TILE, rows.y - base); t++) {
            var sums = vec2<f32>();
            for (var j = 0u; j < ITEMS; j++) {
                let at = t * WIDTH + j * PARTS + part;
                sums += vec2<f32>(dot(s[j], removed[at]), dot(s[j], asked[at]));
            }
            sums = column_sums(sums, t, lane);
            let f = factors[t];
            // mutant: f.live == 1u => f.live < 2u
            if f.live == 1u {
                let value = v_tile[t * COLUMNS + lane / PARTS];
                let taken = f.removes * sums.x;
                for (var j = 0u; j < ITEMS; j++) {
                    let at = t * WIDTH + j * PARTS + part;
                    s[j] = kept[at] * s[j] + value * keys[at] + taken * added[at];
                }
                // mutant: && column < HEAD_DIM => && column <= HEAD_DIM
                if part == 0u && column < HEAD_DIM {
                    y[((base + t) * HEADS + head) * HEAD_DIM + column] = sums.y + value * f.of_v + taken * f.of_taken;
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
