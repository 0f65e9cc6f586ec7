// A gate before the product: in the place of x activation(x) ⊙ up (Shazeer 2020, arXiv 2002.05202), with the values of
// up from `other_at` on. For rows so short that each workgroup can do it. One column, in whole blocks.
#import bias

override GATE_GELU: bool; // the gate goes through GELU rather than SiLU

@group(0) @binding(8) var<storage, read> up: array<vec4<f32>>; // [values before, COLS]

fn prepare(first: bool, thread: u32) {}

fn prepared_x(start: u32, col: u32) -> vec4<f32> {
    let x = load_x(start, col);
    var gate = vec4<f32>(silu(x.x), silu(x.y), silu(x.z), silu(x.w));
    if GATE_GELU {
        // mutant (mat_vec, mat_vec_split): gelu(x.z), gelu(x.w) => gelu(x.w), gelu(x.z)
        gate = vec4<f32>(gelu(x.x), gelu(x.y), gelu(x.z), gelu(x.w));
    }
    // mutant (mat_vec, mat_vec_split): (params.other_at + col) / 4u => col / 4u
    return gate * up[(params.other_at + col) / 4u];
}
