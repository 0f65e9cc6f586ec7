// What becomes of the gate and the other half of a gated feed-forward (Shazeer 2020, arXiv 2002.05202). The kernel
// declares `override GATE: u32`: 1 SwiGLU, 2 GeGLU, 3 the clamped SwiGLU of gpt-oss (arXiv 2508.10925),
// 4 ReGLU.
#import silu
#import gelu

const LIMIT = 7.0;

fn gated(gate: f32, up: f32) -> f32 {
    switch GATE {
        case 2u: {
            return gelu(gate) * up;
        }
        case 3u: {
            // mutant (mat_vec_experts, mat_mul_experts): min(gate, LIMIT) => gate
            let x = min(gate, LIMIT);
            // mutant (mat_vec_experts, mat_mul_experts): clamp(up, -LIMIT, LIMIT) => min(up, LIMIT)
            let other = clamp(up, -LIMIT, LIMIT);
            // x · sigmoid(1.702 · x)
            // mutant (mat_vec_experts, mat_mul_experts): (other + 1.0) => other
            return x / (1.0 + exp(-max(1.702 * x, -80.0))) * (other + 1.0);
        }
        case 4u: {
            // mutant (mat_vec_experts, mat_mul_experts): max(gate, 0.0) => gate
            return max(gate, 0.0) * up;
        }
        default: {
            return silu(gate) * up;
        }
    }
}
