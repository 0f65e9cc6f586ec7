// The running softmax of a workgroup of WG_SIZE threads over tiles of up to KEYS keys for QUERIES queries (Milakov &
// Gimelshein 2018, arXiv 1805.02867): `weights` holds scores, which are replaced by exp(score - maximum so far).
override MEMBERS: u32 = WG_SIZE / QUERIES;        // threads that compute the softmax weights of one query

var<workgroup> weights: array<f32, QUERIES * KEYS>;
var<workgroup> shared_by: array<f32, WG_SIZE>;    // a maximum, then a sum, of each member
var<workgroup> high: array<f32, QUERIES>;
var<workgroup> total: array<f32, QUERIES>;
var<workgroup> rescale: array<f32, QUERIES>;       // what sums so far are to be multiplied by

// Before the first tile.
fn start_softmax(lane: u32) {
    if lane < QUERIES {
        high[lane] = LOWEST;
        total[lane] = 0.0;
    }
    workgroupBarrier();
}

// Replaces the scores of a tile of `count` keys by softmax weights and updates the running maxima and sums.
fn advance(lane: u32, count: u32) {
    let n = lane / MEMBERS;
    let member = lane % MEMBERS;
    var highest = LOWEST;
    // mutant (attention_strided): i = member; i < count; i += MEMBERS) { => i = member; i + 1u < count; i += MEMBERS) {
    for (var i = member; i < count; i += MEMBERS) {
        highest = max(highest, weights[n * KEYS + i]);
    }
    shared_by[lane] = highest;
    workgroupBarrier();
    highest = high[n];
    for (var i = 0u; i < MEMBERS; i++) {
        highest = max(highest, shared_by[n * MEMBERS + i]);
    }
    let factor = exp(high[n] - highest);
    workgroupBarrier();
    var sum = 0.0;
    for (var i = member; i < count; i += MEMBERS) {
        let score = weights[n * KEYS + i];
        // mutant (attention_strided): select(0.0, exp(score - highest), score > -2.0e38) => exp(score - highest)
        let weight = select(0.0, exp(score - highest), score > -2.0e38);
        weights[n * KEYS + i] = weight;
        sum += weight;
    }
    shared_by[lane] = sum;
    workgroupBarrier();
    if member == 0u {
        // mutant (attention_strided): var all = total[n] * factor; => var all = total[n];
        var all = total[n] * factor;
        for (var i = 0u; i < MEMBERS; i++) {
            // mutant (attention_strided): all += shared_by[lane + i]; => all += shared_by[n + i];
            all += shared_by[lane + i];
        }
        total[n] = all;
        high[n] = highest;
        rescale[n] = factor;
    }
    workgroupBarrier();
}
