// What products with 8 × 8 sums in the registers of a thread share: 64 threads have 64 rows of W and 64 tokens.
const TILE = 64u;   // rows, and tokens
const SIDE = 8u;    // threads along either
const LINE = 16u;   // vec4 of a column
const HALF = TILE / 2u;

// Sums of four tokens: [2t + h] those of token t with half h of the thread's rows. A half is four neighbours; the
// second comes half a tile after the first, so that neighbouring threads read neighbouring vec4. Tokens likewise.
alias Sums = array<vec4<f32>, 8>;

// Columns 4k … of block b of four rows; rows past the end repeat the last: their sums are never written.
fn fetch_weights(b: u32, k: u32, row: u32) -> mat4x4<f32> {
    // mutant (mat_mul_8x8, mat_mul_f16): let last = ROWS - 1u; => let last = ROWS - 2u;
    let last = ROWS - 1u;
    return transpose(mat4x4<f32>(
        load_quad(min(row, last) * BLOCKS + b, k),
        load_quad(min(row + 1u, last) * BLOCKS + b, k),
        load_quad(min(row + 2u, last) * BLOCKS + b, k),
        load_quad(min(row + 3u, last) * BLOCKS + b, k),
    ));
}

fn write_four(t: u32, r: u32, sum: vec4<f32>) {
    for (var i = 0u; i < 4u; i += 1u) {
        write(t, r + i, sum[i]);
    }
}

// Writes the sums of four tokens, from row `r` on.
fn write_sums(t: u32, r: u32, sums: ptr<function, Sums>) {
    write_four(t, r, (*sums)[0]);
    write_four(t, r + HALF, (*sums)[1]);
    write_four(t + 1u, r, (*sums)[2]);
    write_four(t + 1u, r + HALF, (*sums)[3]);
    write_four(t + 2u, r, (*sums)[4]);
    write_four(t + 2u, r + HALF, (*sums)[5]);
    write_four(t + 3u, r, (*sums)[6]);
    write_four(t + 3u, r + HALF, (*sums)[7]);
}
