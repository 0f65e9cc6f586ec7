// A number's share of a sum of numbers that are not negative; where the sum is 0, or next to nothing, shares are 0.
const LEAST_SUM: f32 = 1e-37;

fn share(value: f32, sum: f32) -> f32 {
    // mutant (sinkhorn, sinkhorn_rows, sinkhorn_columns): value / max(sum, LEAST_SUM) => value / max(sum, 1.0)
    // mutant (sinkhorn): value / max(sum, LEAST_SUM), sum >= LEAST_SUM => value / sum, sum >= 1e-10
    return select(0.0, value / max(sum, LEAST_SUM), sum >= LEAST_SUM);
}

// Whether a row has not reached the sum 1 yet.
fn is_off(sum: f32, tolerance: f32) -> bool {
    // mutant (sinkhorn, sinkhorn_rows): abs(sum - 1.0) > tolerance => sum - 1.0 > 1.0
    return sum >= LEAST_SUM && abs(sum - 1.0) > tolerance;
}
