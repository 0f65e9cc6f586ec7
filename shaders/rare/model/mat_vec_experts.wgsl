// Few tokens, each by the matrices of its experts, which are read straight by the ids in `routes`: decode.
// Without SUM, for each choice s of token t, e = ids[t, s]:
//   y[t, s, r] = epilogue(Σ_c W[e, r, c] · x[t, c] + bias[e, r])
// With SUM the results of a token's experts are added up with its weights:
//   y[t, r] = Σ_s weights[t, s] · (Σ_c W[e, r, c] · x[t, s, c] + bias[e, r])
//
// A workgroup computes OUTPUTS rows of y, all its threads together, as in mat_vec_split: a thread takes eight weights
// of a block at a time. With SUM the blocks of all choices follow each other, so that a token's small matrices keep as
// many threads busy as one large matrix. W may be one shard, of whole experts: other experts' rows are left to others.

override COLS: u32;
override ROWS: u32;           // rows of y for an expert: with PAIRED half of those of its matrix
override ROWS_PER_GROUP: u32; // rows of W that a workgroup works on together: 2 or 4
override WG_SIZE: u32;
override LANES: u32;          // threads of a thread group, a power of two; 0: known only at run time
override EXPERTS: u32;        // of all shards
override TOP: u32;            // experts of a token
override SUM: bool;
override PAIRED: bool;        // rows r and ROWS + r of an expert are gate and up of y[r]
override GATE: u32;           // with PAIRED or UP the activation, see gated.wgsl
override UP: bool;            // y holds the gate of what is computed here
override BIAS: bool;          // [EXPERTS, ROWS]; with PAIRED those of the gates, then those of the ups
override BIAS_OF_ENTRIES: u32; // not 0: the bias is [BIAS_OF_ENTRIES, ROWS], by entries t · TOP + s
override ADD: bool;           // add to y
override HEADS: bool;         // choice s of every token is expert s: routes are not read
override X_STEP: u32;         // elements from the x of a choice to that of the next, where they lie in the token's row

override BLOCKS: u32 = (COLS + 31u) / 32u;                // blocks of a row
override OUTPUTS: u32 = select(ROWS_PER_GROUP, ROWS_PER_GROUP / 2u, PAIRED); // rows of y of a workgroup
override SUMS: u32 = ROWS_PER_GROUP;
override CHOICES: u32 = select(1u, TOP, SUM);             // that a workgroup works on
// mutant: (4u * BLOCKS * CHOICES + WG_SIZE - 1u) / WG_SIZE => 4u * BLOCKS * CHOICES / WG_SIZE
override STEPS_OF_ROW: u32 = (4u * BLOCKS * CHOICES + WG_SIZE - 1u) / WG_SIZE; // pairs of quads for each thread
override PARTS: u32 = SUMS * ((WG_SIZE + 3u) / 4u);
override MATRIX_ROWS: u32 = select(ROWS, 2u * ROWS, PAIRED);
override BIASES: u32 = select(EXPERTS, BIAS_OF_ENTRIES, BIAS_OF_ENTRIES > 0u);

const MAX_SUMS = 4u;

struct Params {
    first_expert: u32, // of the shard
    experts: u32,      // of the shard
    x_stride: u32,     // elements from one row of x to the next
    y_stride: u32,     // elements from one row of y to the next
}

#import pass
#import gated

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> routes: array<u32>;      // [tokens, 2 · TOP]: ids, then bits of weights
@group(0) @binding(3) var<storage, read> x: array<x_elem>;        // [tokens, x_stride], with SUM [tokens · TOP, ..]
@group(0) @binding(4) var<storage, read> w_vec: array<vec4<u32>>; // [experts of the shard, MATRIX_ROWS, BLOCKS], scales
@group(0) @binding(5) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(6) var<storage, read> bias: array<f32>;
@group(0) @binding(7) var<storage, read_write> y: array<f32>;     // [tokens · TOP, y_stride], with SUM [tokens, ..]

#import columns
#import weights
#import thread_group

var<workgroup> parts: array<f32, PARTS>; // [thread groups, SUMS]

fn expert_of(token: u32, choice: u32) -> u32 {
    if HEADS {
        return choice;
    }
    return routes[token * 2u * TOP + choice];
}

fn weight_of(token: u32, choice: u32) -> f32 {
    // mutant: token * 2u * TOP + TOP + choice => token * 2u * TOP + TOP
    return bitcast<f32>(routes[token * 2u * TOP + TOP + choice]);
}

// Whether the shard has the expert.
fn is_here(expert: u32) -> bool {
    // mutant: expert - params.first_expert < params.experts => expert - params.first_expert <= params.experts
    return expert >= params.first_expert && expert - params.first_expert < params.experts;
}

// Row number `group_row` of the matrix of an expert of the shard, for rows of y from `first` on. Rows past the end
// repeat the last.
fn weight_row(expert: u32, first: u32, group_row: u32) -> u32 {
    let of_expert = (expert - params.first_expert) * MATRIX_ROWS;
    if PAIRED {
        // mutant: (group_row & 1u) * ROWS => (group_row & 1u)
        return of_expert + min(first + group_row / 2u, ROWS - 1u) + (group_row & 1u) * ROWS;
    }
    return of_expert + min(first + group_row, ROWS - 1u);
}

// Adds pair i of quads of the rows from `first` on, times x: i counts those of CHOICES choices from `choice` on.
fn add_quads(sums: ptr<function, array<f32, MAX_SUMS>>, token: u32, choice: u32, first: u32, i: u32) {
    let s = choice + i / (4u * BLOCKS);
    let expert = expert_of(token, s);
    if !is_here(expert) {
        return;
    }
    // mutant: i / 4u % BLOCKS => i / 4u
    let b = i / 4u % BLOCKS;
    let k = i & 3u;
    // mutant: select(token, token * TOP + s, SUM) => token
    // mutant: params.x_stride + s * X_STEP => params.x_stride
    let start = select(token, token * TOP + s, SUM) * params.x_stride + s * X_STEP;
    let low = load_x(start, b * 32u + 4u * k);
    let high = load_x(start, b * 32u + 16u + 4u * k);
    let x_sums = vec2<f32>(dot(low, vec4<f32>(1.0)), dot(high, vec4<f32>(1.0)));
    let weight = select(1.0, weight_of(token, s), SUM);
    for (var group_row = 0u; group_row < ROWS_PER_GROUP; group_row += 1u) {
        let at = weight_row(expert, first, group_row) * BLOCKS + b;
        (*sums)[group_row] += weight * quads_dot(at, k, low, high, x_sums);
    }
}

// Sum i of the workgroup, from those of its thread groups.
fn total(i: u32, thread_groups: u32) -> f32 {
    var sum = 0.0;
    // mutant: thread_group < thread_groups; thread_group += 1u => thread_group < 1u; thread_group += 1u
    for (var thread_group = 0u; thread_group < thread_groups; thread_group += 1u) {
        sum += parts[thread_group * SUMS + i];
    }
    return sum;
}

// The biases of row r: of y, or with PAIRED of its gate and its up.
fn biases(token: u32, choice: u32, r: u32) -> vec2<f32> {
    var found = vec2<f32>();
    if !BIAS {
        return found;
    }
    for (var s = choice; s < choice + CHOICES; s += 1u) {
        let expert = expert_of(token, s);
        if is_here(expert) {
            let weight = select(1.0, weight_of(token, s), SUM);
            // mutant: select(expert, token * TOP + s, BIAS_OF_ENTRIES > 0u) => expert
            let owner = select(expert, token * TOP + s, BIAS_OF_ENTRIES > 0u);
            // mutant: (BIASES + owner) * ROWS + r => owner * ROWS + r
            let up = select(0u, (BIASES + owner) * ROWS + r, PAIRED);
            found += weight * vec2<f32>(bias[owner * ROWS + r], bias[up]);
        }
    }
    return found;
}

fn write_row(at: u32, sum: f32, up: f32) {
    if PAIRED {
        y[at] = gated(sum, up);
    } else if UP {
        // mutant: gated(y[at], sum) => gated(sum, y[at])
        y[at] = gated(y[at], sum);
    } else if ADD {
        // mutant: y[at] += sum; => y[at] = sum;
        y[at] += sum;
    } else {
        y[at] = sum;
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = group.x * OUTPUTS;
    // mutant: select(group.y / TOP, group.y, SUM) => group.y
    let token = select(group.y / TOP, group.y, SUM);
    let choice = select(group.y % TOP, 0u, SUM);
    // mutant: if !SUM && !is_here(expert_of(token, choice)) { => if false {
    if !SUM && !is_here(expert_of(token, choice)) {
        return;
    }
    let thread_group = join_thread_group(thread);
    var sums = array<f32, MAX_SUMS>();
    for (var step = 0u; step < STEPS_OF_ROW; step += 1u) {
        let i = step * WG_SIZE + thread;
        // mutant: if i < 4u * BLOCKS * CHOICES { => if i <= 4u * BLOCKS * CHOICES {
        if i < 4u * BLOCKS * CHOICES {
            add_quads(&sums, token, choice, first, i);
        }
    }
    thread_group_sums(&sums, thread_group, thread);
    for (var i = 0u; i < SUMS; i += 1u) {
        if thread_group.lane == 0u {
            parts[thread_group.index * SUMS + i] = sums[i];
        }
    }
    workgroupBarrier();
    let r = first + thread;
    // mutant: & ROW_DONE) == 0u => & ROW_DONE) < 2u
    let is_live = (this_pass.row[token].flags & ROW_DONE) == 0u;
    // mutant: thread < OUTPUTS && r < ROWS => thread < OUTPUTS && r <= ROWS
    if thread < OUTPUTS && r < ROWS && is_live {
        let at = select(thread, 2u * thread, PAIRED);
        let thread_groups = WG_SIZE / thread_group.lanes;
        let bias_of = biases(token, choice, r);
        let sum = total(at, thread_groups) + bias_of.x;
        write_row(group.y * params.y_stride + r, sum, total(at + 1u, thread_groups) + bias_of.y);
    }
}
