// A thread's 8 × 8 sums: sums[2r + h] belongs to its row r and half h of its columns. A half is four neighbours; the
// second comes half a tile after the first, so that neighbouring threads read neighbouring vec4. Rows likewise.
const MICRO = 8u;
const VECTORS = 16;

alias Sums = array<vec4<real>, VECTORS>;
alias Totals = array<vec4<f32>, VECTORS>;

// Adds the products of step d of both tiles. Spelt out, so that the sums stay in registers.
fn multiply(sums: ptr<function, Sums>, d: u32, tx: u32, ty: u32) {
    let a0 = a_tile[d * STRIDE + ty];
    let a1 = a_tile[d * STRIDE + ty + 8u];
    let b0 = b_tile[d * STRIDE + tx];
    let b1 = b_tile[d * STRIDE + tx + 8u];
    (*sums)[0] += a0.x * b0;
    (*sums)[1] += a0.x * b1;
    (*sums)[2] += a0.y * b0;
    (*sums)[3] += a0.y * b1;
    (*sums)[4] += a0.z * b0;
    (*sums)[5] += a0.z * b1;
    (*sums)[6] += a0.w * b0;
    (*sums)[7] += a0.w * b1;
    (*sums)[8] += a1.x * b0;
    (*sums)[9] += a1.x * b1;
    (*sums)[10] += a1.y * b0;
    (*sums)[11] += a1.y * b1;
    (*sums)[12] += a1.z * b0;
    // mutant (mat_mul_dense, mat_mul_grouped): (*sums)[13] += a1.z * b1; => (*sums)[13] += a1.z * b0;
    (*sums)[13] += a1.z * b1;
    (*sums)[14] += a1.w * b0;
    (*sums)[15] += a1.w * b1;
}

// totals += sums, and sums = 0
fn flush(sums: ptr<function, Sums>, totals: ptr<function, Totals>) {
    (*totals)[0] += vec4<f32>((*sums)[0]);
    (*totals)[1] += vec4<f32>((*sums)[1]);
    (*totals)[2] += vec4<f32>((*sums)[2]);
    (*totals)[3] += vec4<f32>((*sums)[3]);
    (*totals)[4] += vec4<f32>((*sums)[4]);
    (*totals)[5] += vec4<f32>((*sums)[5]);
    (*totals)[6] += vec4<f32>((*sums)[6]);
    (*totals)[7] += vec4<f32>((*sums)[7]);
    (*totals)[8] += vec4<f32>((*sums)[8]);
    (*totals)[9] += vec4<f32>((*sums)[9]);
    (*totals)[10] += vec4<f32>((*sums)[10]);
    (*totals)[11] += vec4<f32>((*sums)[11]);
    (*totals)[12] += vec4<f32>((*sums)[12]);
    (*totals)[13] += vec4<f32>((*sums)[13]);
    (*totals)[14] += vec4<f32>((*sums)[14]);
    (*totals)[15] += vec4<f32>((*sums)[15]);
    *sums = Sums();
}

// Writes the sums of a thread whose first element is (row, col).
fn write_all(totals: ptr<function, Totals>, z: u32, row: u32, col: u32) {
    write(z, row, col, (*totals)[0]);
    write(z, row, col + 32u, (*totals)[1]);
    write(z, row + 1u, col, (*totals)[2]);
    write(z, row + 1u, col + 32u, (*totals)[3]);
    write(z, row + 2u, col, (*totals)[4]);
    write(z, row + 2u, col + 32u, (*totals)[5]);
    write(z, row + 3u, col, (*totals)[6]);
    write(z, row + 3u, col + 32u, (*totals)[7]);
    write(z, row + 32u, col, (*totals)[8]);
    write(z, row + 32u, col + 32u, (*totals)[9]);
    write(z, row + 33u, col, (*totals)[10]);
    write(z, row + 33u, col + 32u, (*totals)[11]);
    write(z, row + 34u, col, (*totals)[12]);
    write(z, row + 34u, col + 32u, (*totals)[13]);
    write(z, row + 35u, col, (*totals)[14]);
    // mutant (mat_mul_dense, mat_mul_grouped): 15 => 14
    write(z, row + 35u, col + 32u, (*totals)[15]);
}
