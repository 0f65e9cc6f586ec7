// The steps between the QKV projection and attention, for one row and one head per workgroup:
//   q, k: optional RMS norm over the head, before or after rotation of pairs (RoPE, Su et al. 2021, arXiv 2104.09864)
//   v: optional RMS norm over the head
//   k, v: into the cache, in its type, at the row's position
// The angle of pair i is position * frequency_i. Frequencies come as turns per token in 64-bit fixed point, so that
// the wrapped product is exact at any position.

#import pass

override WG_SIZE: u32 = 64;
override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;       // even
override ROPE_DIMS: u32;      // even, at most HEAD_DIM: the rest passes through
override ROPE_FIRST: u32;     // values of a head before these
override SPLIT_HALF: bool;    // pairs (i, i + ROPE_DIMS/2) rather than (2i, 2i + 1)
override MAGNITUDE: f32;      // what cosines and sines are multiplied by
override TEMPERATURE: f32;    // queries are multiplied by 1 + TEMPERATURE * ln(position / SPAN + 1)
override SPAN: u32;
override QK_NORM: bool;
override ROTATED_NORM: bool;  // the norm of q and k follows their rotation
override V_NORM: bool = false; // v: an RMS norm over the head without weight
override EPS: f32;
override CAPACITY: u32;       // positions in the cache of a sequence
override ROW_STRIDE: u32;     // values of a row of qkv
override K_AT: u32;           // value of a row where k starts
override V_AT: u32;           // k's, where v is k before its norm
override RING: bool;          // position p lies at p % CAPACITY: the cache is smaller than the context

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> qkv: array<f32>;              // [rows, ROW_STRIDE]: q, k, v
@group(0) @binding(3) var<storage, read> frequencies: array<vec2<u32>>;// [ROPE_DIMS/2]: turns, high and low 32 bits
@group(0) @binding(4) var<storage, read> q_norm: array<f32>;           // [HEAD_DIM], unused without QK_NORM
@group(0) @binding(5) var<storage, read> k_norm: array<f32>;           // [HEAD_DIM]
@group(0) @binding(6) var<storage, read_write> q: array<f32>;          // [rows, HEADS, HEAD_DIM]
@group(0) @binding(7) var<storage, read_write> k_cache: array<CacheElement>; // [sequences, KV_HEADS, CAPACITY, ROW]
@group(0) @binding(8) var<storage, read_write> v_cache: array<CacheElement>; // the same

#import eight
#import cache
#import cache_write
#import reduce
#import rotation
#import turn_position

var<workgroup> head_row: array<f32, HEAD_DIM>;

// For cache_write.
fn head_value(i: u32) -> f32 {
    // mutant: head_row[i] => head_row[i / 2u]
    return head_row[i];
}

fn rotate(position: u32, lane: u32) {
    for (var i = lane; i < ROPE_DIMS / 2u; i += WG_SIZE) {
        // mutant: ROPE_FIRST + select(2u * i, => select(2u * i,
        let a = ROPE_FIRST + select(2u * i, i, SPLIT_HALF);
        // mutant: i + ROPE_DIMS / 2u => i + HEAD_DIM / 2u
        let b = ROPE_FIRST + select(2u * i + 1u, i + ROPE_DIMS / 2u, SPLIT_HALF);
        // mutant: * MAGNITUDE =>
        let turn = rotation(turn_position(position, i), frequencies[i]) * MAGNITUDE;
        let pair = vec2<f32>(head_row[a], head_row[b]);
        head_row[a] = pair.x * turn.y - pair.y * turn.x;
        head_row[b] = pair.x * turn.x + pair.y * turn.y;
    }
}

fn normalise(head: u32, lane: u32) {
    var squares = 0.0;
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        squares += head_row[i] * head_row[i];
    }
    // mutant: f32(HEAD_DIM) + EPS => f32(HEAD_DIM)
    let scale = inverseSqrt(workgroup_sum(squares, lane) / f32(HEAD_DIM) + EPS);
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        var weight = 1.0;
        if head < HEADS + KV_HEADS {
            // mutant: head >= HEADS); => head > HEADS);
            weight = select(q_norm[i], k_norm[i], head >= HEADS);
        }
        head_row[i] *= scale * weight;
    }
    workgroupBarrier();
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = this_pass.row[group.y];
    // mutant: & ROW_DONE) != 0u { => & ROW_DONE) > 1u {
    if (row.flags & ROW_DONE) != 0u {
        return;
    }
    let head = group.x;
    var at = head * HEAD_DIM;
    if head >= HEADS {
        at = K_AT + (head - HEADS) * HEAD_DIM;
    }
    if head >= HEADS + KV_HEADS {
        // mutant: at = V_AT + => at = K_AT +
        at = V_AT + (head - HEADS - KV_HEADS) * HEAD_DIM;
    }
    let start = group.y * ROW_STRIDE + at;
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        head_row[i] = qkv[start + i];
    }
    workgroupBarrier();
    if head < HEADS + KV_HEADS {
        // mutant: QK_NORM && !ROTATED_NORM { => QK_NORM {
        if QK_NORM && !ROTATED_NORM {
            normalise(head, lane);
        }
        rotate(row.position, lane);
        if QK_NORM && ROTATED_NORM {
            workgroupBarrier();
            normalise(head, lane);
        }
    // mutant: V_NORM { => V_NORM && head == 0u {
    } else if V_NORM {
        normalise(head, lane);
    }
    workgroupBarrier();
    if head < HEADS {
        let to = (group.y * HEADS + head) * HEAD_DIM;
        // mutant: row.position / SPAN + 1u => row.position / SPAN
        let temperature = 1.0 + TEMPERATURE * log(f32(row.position / SPAN + 1u));
        for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
            q[to + i] = head_row[i] * temperature;
        }
        return;
    }
    let kv_head = (head - HEADS) % max(KV_HEADS, 1u); // without kv heads no workgroup comes here
    // mutant: row.position % CAPACITY, RING) => row.position, RING)
    let slot = select(row.position, row.position % CAPACITY, RING);
    // mutant: row.sequence * KV_HEADS + kv_head => kv_head
    // mutant: * CAPACITY + slot => * CAPACITY + group.y
    let to = ((row.sequence * KV_HEADS + kv_head) * CAPACITY + slot) * ROW;
    for (var i = lane; i < ROW; i += WG_SIZE) {
        let element = packed_element(i);
        // mutant: if head < HEADS + KV_HEADS { => if head <= HEADS {
        if head < HEADS + KV_HEADS {
            k_cache[to + i] = element;
        } else {
            v_cache[to + i] = element;
        }
    }
}
