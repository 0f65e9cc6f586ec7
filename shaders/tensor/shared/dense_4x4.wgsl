// A thread's 4 × 4 sums: sums[r] belongs to its row r and its four columns.
const MICRO = 4u;
const VECTORS = 4;

alias Sums = array<vec4<real>, VECTORS>;
alias Totals = array<vec4<f32>, VECTORS>;

// Adds the products of step d of both tiles. Spelt out, so that the sums stay in registers.
fn multiply(sums: ptr<function, Sums>, d: u32, tx: u32, ty: u32) {
    let a = a_tile[d * STRIDE + ty];
    let b = b_tile[d * STRIDE + tx];
    (*sums)[0] += a.x * b;
    (*sums)[1] += a.y * b;
    (*sums)[2] += a.z * b;
    // mutant (mat_mul_dense, mat_mul_grouped): (*sums)[3] += a.w * b; => (*sums)[3] += a.z * b;
    (*sums)[3] += a.w * b;
}

// totals += sums, and sums = 0
fn flush(sums: ptr<function, Sums>, totals: ptr<function, Totals>) {
    (*totals)[0] += vec4<f32>((*sums)[0]);
    (*totals)[1] += vec4<f32>((*sums)[1]);
    (*totals)[2] += vec4<f32>((*sums)[2]);
    (*totals)[3] += vec4<f32>((*sums)[3]);
    *sums = Sums();
}

// Writes the sums of a thread whose first element is (row, col).
fn write_all(totals: ptr<function, Totals>, z: u32, row: u32, col: u32) {
    write(z, row, col, (*totals)[0]);
    write(z, row + 1u, col, (*totals)[1]);
    write(z, row + 2u, col, (*totals)[2]);
    write(z, row + 3u, col, (*totals)[3]);
}
