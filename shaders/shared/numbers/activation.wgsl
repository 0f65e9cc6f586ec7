// What follows a matrix product. The kernel declares `override ACTIVATION: u32`: 0 none, 1 relu, 2 silu, 3 gelu.
#import silu
#import gelu

fn activate(x: f32) -> f32 {
    switch ACTIVATION {
        case 1u: {
            // mutant (mat_mul_dense): return max(x, 0.0); => return abs(x);
            return max(x, 0.0);
        }
        case 2u: {
            // mutant (swiglu, mat_mul_dense): return silu(x); => return gelu(x);
            return silu(x);
        }
        case 3u: {
            // mutant (swiglu, mat_mul_dense_few): return gelu(x); => return silu(x);
            return gelu(x);
        }
        default: {
            return x;
        }
    }
}
