// Columns of x that end inside a block: rows start at any element, and columns past the last count as 0.
alias x_elem = f32;

// Four values from column `col` of the row that starts at element `start`.
fn load_x(start: u32, col: u32) -> vec4<f32> {
    let last = COLS - 1u;
    let at = vec4<u32>(col, col + 1u, col + 2u, col + 3u);
    let i = vec4<u32>(start) + min(at, vec4<u32>(last));
    // mutant (mat_vec, mat_mul, mat_vec_split): at <= vec4<u32>(last) => at < vec4<u32>(last)
    // mutant (mat_vec, mat_vec_split): at <= vec4<u32>(last) => vec4<bool>(true)
    return select(vec4<f32>(), vec4<f32>(x[i.x], x[i.y], x[i.z], x[i.w]), at <= vec4<u32>(last));
}
