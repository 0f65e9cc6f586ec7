// y[r, c, k] = factor(k) · Σ_s |z[r, s, k]|² over the segments s of chunk c          power of spectra, for `welch`
//
// The factor of what stands for two frequencies, all but the first bin and an even length's last, is twice as large.
// One workgroup computes 64 bins of a chunk of 64 segments: four threads for a bin, whose sums are added at the end.

const WG_SIZE = 256u;
const BINS = 64u;
const LANES = 4u;
const CHUNK = 64u;

struct Params {
    tiles: u32,    // workgroups: rows · chunks · ⌈bins / 64⌉
    segments: u32, // of a row
    chunks: u32,   // of a row
    bins: u32,
    single: u32,   // the other bin that stands for one frequency
    factor: f32,   // of these
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> z: array<vec2<f32>>; // [rows, segments, bins]
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [rows, chunks, bins]

var<workgroup> sums: array<f32, WG_SIZE>;

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups.x + group.x => group.x
    let tile = group.y * groups.x + group.x;
    if tile >= params.tiles {
        return;
    }
    let across = (params.bins + BINS - 1u) / BINS;
    let of_y = tile / across;
    let bin = tile % across * BINS + lane % BINS;
    let row = of_y / params.chunks;
    let first = of_y % params.chunks * CHUNK;
    var sum = 0.0;
    if bin < params.bins {
        // mutant: min(first + CHUNK, params.segments) => params.segments
        for (var s = first + lane / BINS; s < min(first + CHUNK, params.segments); s += LANES) {
            let value = z[(row * params.segments + s) * params.bins + bin];
            sum += dot(value, value);
        }
    }
    sums[lane] = sum;
    workgroupBarrier();
    if lane < BINS && bin < params.bins {
        let whole = sums[lane] + sums[lane + BINS] + sums[lane + 2u * BINS] + sums[lane + 3u * BINS];
        // mutant: bin == 0u || bin == params.single => bin == params.single
        let is_single = bin == 0u || bin == params.single;
        y[of_y * params.bins + bin] = whole * params.factor * select(2.0, 1.0, is_single);
    }
}
