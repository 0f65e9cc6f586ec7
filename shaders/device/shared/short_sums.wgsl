// Sums of a few products in f16, and what becomes of them.
override HANDED: u32 = select(1u, 256u, GROUPS == 2u);

var<workgroup> handed: array<vec4<f32>, HANDED>; // [4, threads of a group]

alias ShortSums = array<vec4<f16>, 8>; // as Sums

// Adds the products of a column: of the x of four tokens with the weights of both halves of the rows.
fn add(sums: ptr<function, ShortSums>, x: vec4<f16>, low: vec4<f16>, high: vec4<f16>) {
    (*sums)[0] = fma(x.xxxx, low, (*sums)[0]);
    (*sums)[1] = fma(x.xxxx, high, (*sums)[1]);
    (*sums)[2] = fma(x.yyyy, low, (*sums)[2]);
    (*sums)[3] = fma(x.yyyy, high, (*sums)[3]);
    (*sums)[4] = fma(x.zzzz, low, (*sums)[4]);
    (*sums)[5] = fma(x.zzzz, high, (*sums)[5]);
    (*sums)[6] = fma(x.wwww, low, (*sums)[6]);
    // mutant (mat_mul_f16): fma(x.wwww, high, (*sums)[7]) => fma(x.wwww, low, (*sums)[7])
    (*sums)[7] = fma(x.wwww, high, (*sums)[7]);
}

// Adds the sums of 16 columns of four tokens, of which `token` of the tile is the first.
fn settle(sums: ptr<function, Sums>, short: ptr<function, ShortSums>, token: u32) {
    let scale = vec4<f32>(
        // mutant (mat_mul_f16): scale_tile[token + 1u], => scale_tile[token],
        scale_tile[token], scale_tile[token + 1u], scale_tile[token + 2u], scale_tile[token + 3u],
    );
    (*sums)[0] += scale.x * vec4<f32>((*short)[0]);
    (*sums)[1] += scale.x * vec4<f32>((*short)[1]);
    (*sums)[2] += scale.y * vec4<f32>((*short)[2]);
    (*sums)[3] += scale.y * vec4<f32>((*short)[3]);
    (*sums)[4] += scale.z * vec4<f32>((*short)[4]);
    (*sums)[5] += scale.z * vec4<f32>((*short)[5]);
    (*sums)[6] += scale.w * vec4<f32>((*short)[6]);
    (*sums)[7] += scale.w * vec4<f32>((*short)[7]);
}

// Adds the second group's sums of four tokens to the first's, in two halves.
fn hand_over(sums: ptr<function, Sums>, thread: u32) {
    let at = thread % 64u;
    workgroupBarrier();
    if thread >= 64u {
        handed[at] = (*sums)[0];
        handed[at + 64u] = (*sums)[1];
        handed[at + 128u] = (*sums)[2];
        handed[at + 192u] = (*sums)[3];
    }
    workgroupBarrier();
    if thread < 64u {
        (*sums)[0] += handed[at];
        (*sums)[1] += handed[at + 64u];
        (*sums)[2] += handed[at + 128u];
        (*sums)[3] += handed[at + 192u];
    }
    workgroupBarrier();
    if thread >= 64u {
        handed[at] = (*sums)[4];
        handed[at + 64u] = (*sums)[5];
        handed[at + 128u] = (*sums)[6];
        handed[at + 192u] = (*sums)[7];
    }
    workgroupBarrier();
    if thread < 64u {
        (*sums)[4] += handed[at];
        // mutant (mat_mul_f16): (*sums)[5] += handed[at + 64u]; => (*sums)[5] += handed[at];
        (*sums)[5] += handed[at + 64u];
        (*sums)[6] += handed[at + 128u];
        (*sums)[7] += handed[at + 192u];
    }
}
