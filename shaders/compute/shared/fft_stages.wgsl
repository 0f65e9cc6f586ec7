// The stages of a Fourier transform in `data`: sums and differences of places, times entries of `table`.

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    // mutant (compute/fft): a.x * b.y + a.y * b.x => a.x * b.y - a.y * b.x
    return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn turned(a: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x, select(a.y, -a.y, INVERSE));
}

fn halves(lane: u32) {
    let pairs = max(N / 2u, 1u);
    var results: array<vec2<f32>, 4>;
    for (var h = 0u; h < 2u; h += 1u) {
        let pair = lane + h * WG_SIZE;
        let at = pair / pairs * N + pair % pairs;
        results[2u * h] = data[at] + data[at + pairs];
        results[2u * h + 1u] = data[at] - data[at + pairs];
    }
    workgroupBarrier();
    for (var h = 0u; h < 2u; h += 1u) {
        let at = 2u * (lane + h * WG_SIZE);
        data[at] = results[2u * h];
        data[at + 1u] = results[2u * h + 1u];
    }
    workgroupBarrier();
}

// A stage after others with `done` as the product of their radices.
fn quarters(lane: u32, done: u32) {
    let quarter = max(N / 4u, 1u);
    let start = lane / quarter * N;
    let j = lane % quarter;
    // mutant (compute/fft): let k = j % done; => let k = 0u;
    let k = j % done;
    let step = k * (quarter / done);
    let a = data[start + j];
    let b = times(data[start + j + quarter], turned(table[step]));
    let c = times(data[start + j + 2u * quarter], turned(table[2u * step]));
    // mutant (compute/fft): table[3u * step] => table[2u * step]
    let d = times(data[start + j + 3u * quarter], turned(table[3u * step]));
    let even = a + c;
    let odd = a - c;
    let sum = b + d;
    // (b − d) · ∓√−1
    // mutant (compute/fft): d.x - b.x => b.x - d.x
    let across = vec2<f32>(b.y - d.y, d.x - b.x) * select(1.0, -1.0, INVERSE);
    workgroupBarrier();
    let to = start + 4u * (j - k) + k;
    data[to] = even + sum;
    data[to + done] = odd + across;
    data[to + 2u * done] = even - sum;
    data[to + 3u * done] = odd - across;
    workgroupBarrier();
}
