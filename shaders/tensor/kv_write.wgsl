// cache[h, (position + t) mod rows] = f16(x[h, t]): keys (after RoPE) or values of new tokens into a cache, which
// begins again at its first row when it is full, as sliding windows have it. Rows of the cache are padded with zeros.
// One thread writes one word: two values. Of more tokens than the cache has rows only the last are written.

override WG_SIZE: u32 = 64;

struct Params {
    batch: u32,
    heads: u32,
    tokens: u32,    // that are written: at most `rows`
    first: u32,     // of x's tokens that is written
    head_dim: u32,
    x_batch: u32,   // elements of x from a sequence, a head and a token to the next
    x_head: u32,
    x_row: u32,
    rows: u32,      // positions in the cache
    row_words: u32, // words of a row of the cache: at least head_dim / 2
    row: u32,       // of the cache, where token `first` goes
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;              // [batch, heads, tokens, head_dim] by strides
@group(0) @binding(2) var<storage, read_write> cache: array<u32>;    // [batch, heads, rows, row_words] f16 pairs

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let index = (group.y * groups.x + group.x) * WG_SIZE + lane;
    let word = index % params.row_words;
    // mutant: let token = index / params.row_words % params.tokens; => let token = index / params.row_words;
    let token = index / params.row_words % params.tokens;
    let head = index / params.row_words / params.tokens;
    if head >= params.batch * params.heads {
        return;
    }
    let start = head / params.heads * params.x_batch + head % params.heads * params.x_head
        // mutant: params.first + token => token
        + (params.first + token) * params.x_row;
    let at = vec2<u32>(2u * word, 2u * word + 1u);
    let last = params.head_dim - 1u;
    let pair = vec2<f32>(x[start + min(at.x, last)], x[start + min(at.y, last)]);
    // mutant: (params.row + token) % params.rows => (params.row + token) % (params.rows + 1u)
    let row = (params.row + token) % params.rows;
    // mutant: select(vec2<f32>(), pair, at <= vec2<u32>(last)) => pair
    let kept = select(vec2<f32>(), pair, at <= vec2<u32>(last));
    cache[(head * params.rows + row) * params.row_words + word] = pack2x16float(kept);
}
