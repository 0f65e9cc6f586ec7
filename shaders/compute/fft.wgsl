// y[r, k] = Σ_i x[r, i] · e^(∓2π√−1 · i · k / n)          discrete Fourier transforms of n = 1 to 1024, a power of two
//
// Stockham's form, with radix 4 and one stage of radix 2 where n is no power of 4. One workgroup transforms 1024
// elements, 1024 / n rows, in its memory. Sines and cosines come from a table that the host makes in double precision.
// Longer transforms are two or three dispatches: columns of a matrix, times the twiddles between them, then the rows in
// the same way. What stands before and after (windows, chirps, spectra, halves of real signals) is done on the way in
// and out.

const WG_SIZE = 256u;
const ELEMENTS = 1024u;

override N: u32;            // length
override INVERSE: bool;     // the sign is +
override LOAD: u32;         // x is 0 complex, 1 real, 2 the first half of what is symmetric
override STORE: u32;        // y is 0 complex, 1 its real part
override BEFORE: bool;      // x[i] · before[i]
override AFTER: bool;       // y[k] · after[k]
override BETWEEN: bool;     // of a dispatch before the last: times e^(∓2π√−1 · j · k / length) in column j
override LOAD_ACROSS: bool; // neighbouring threads take neighbouring transforms
override STORE_ACROSS: bool;

struct Params {
    transforms: u32,
    columns: u32,   // transforms of a row
    length: u32,    // elements of a row's whole transform
    given: u32,     // of these, those that are not 0
    frames: u32,    // rows that overlap each other in one row of x
    hop: u32,       // from frame to frame
    of_x: u32,      // elements of a row of x
    of_y: u32,      // elements of a row of y; those behind are left out
    load_step: u32, // between elements of a transform
    load_fold: u32, // columns that are load_skip apart
    load_skip: u32,
    load_far: u32,  // between those and the next ones
    store_step: u32,
    store_skip: u32,
    scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;            // [rows / frames, of_x], complex ones in pairs
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;  // [N]: e^(−2π√−1 · i / N)
@group(0) @binding(3) var<storage, read> far: array<vec2<f32>>;    // [1024 + length / 1024]: of length, fine and coarse
@group(0) @binding(4) var<storage, read> before: array<vec2<f32>>; // [given]
@group(0) @binding(5) var<storage, read> after: array<vec2<f32>>;  // [of_y]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;      // [rows, of_y], complex ones in pairs

var<workgroup> data: array<vec2<f32>, ELEMENTS>;

fn load(row: u32, i: u32) -> vec2<f32> {
    // mutant: i >= params.given => i > params.given
    if i >= params.given {
        return vec2<f32>();
    }
    let is_behind = LOAD == 2u && i >= params.of_x;
    // mutant: row % params.frames * params.hop => row % params.frames
    let start = row / params.frames * params.of_x + row % params.frames * params.hop;
    let at = start + select(i, params.length - i, is_behind);
    var value: vec2<f32>;
    if LOAD == 1u {
        value = vec2<f32>(x[at], 0.0);
    } else {
        // mutant: select(1.0, -1.0, is_behind) => 1.0
        value = vec2<f32>(x[2u * at], x[2u * at + 1u] * select(1.0, -1.0, is_behind));
    }
    if BEFORE { value = times(value, before[i]); }
    return value;
}

fn store(row: u32, k: u32, result: vec2<f32>) {
    if k >= params.of_y {
        return;
    }
    var value = result * params.scale;
    if AFTER { value = times(value, after[k]); }
    let at = row * params.of_y + k;
    if STORE == 1u {
        y[at] = value.x;
        return;
    }
    y[2u * at] = value.x;
    y[2u * at + 1u] = value.y;
}

// The transform and the element of it that a place of `data` is, where transforms are `across` neighbouring threads.
fn place(e: u32, across: bool) -> vec2<u32> {
    let together = ELEMENTS / N;
    return select(vec2<u32>(e / N, e % N), vec2<u32>(e % together, e / together), across);
}

#import fft_stages

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let first = (group.y * groups.x + group.x) * (ELEMENTS / N);
    for (var e = lane; e < ELEMENTS; e += WG_SIZE) {
        let at = place(e, LOAD_ACROSS);
        let transform = first + at.x;
        var value: vec2<f32>;
        if transform < params.transforms {
            let column = transform % params.columns;
            // mutant: column / params.load_fold * params.load_far => 0u
            let start = column % params.load_fold * params.load_skip + column / params.load_fold * params.load_far;
            value = load(transform / params.columns, at.y * params.load_step + start);
        }
        data[at.x * N + at.y] = value;
    }
    workgroupBarrier();
    let has_halves = (countTrailingZeros(N) & 1u) == 1u;
    if has_halves {
        halves(lane);
    }
    for (var done = select(1u, 2u, has_halves); done < N; done *= 4u) {
        quarters(lane, done);
    }
    for (var e = lane; e < ELEMENTS; e += WG_SIZE) {
        let at = place(e, STORE_ACROSS);
        let transform = first + at.x;
        if transform < params.transforms {
            let column = transform % params.columns;
            var value = data[at.x * N + at.y];
            if BETWEEN {
                let turns = column * at.y;
                // mutant: far[1024u + turns / 1024u] => far[1024u]
                value = times(value, turned(times(far[turns % 1024u], far[1024u + turns / 1024u])));
            }
            store(transform / params.columns, at.y * params.store_step + column * params.store_skip, value);
        }
    }
}
