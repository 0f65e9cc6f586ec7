// x as it is.
#import bias

fn prepare(first: bool, thread: u32) {}

// Four values from column `col` of the row at element `start`.
fn prepared_x(start: u32, col: u32) -> vec4<f32> {
    // mutant (mat_vec, mat_vec_split): load_x(start, col) => load_x(0u, col)
    return load_x(start, col);
}
