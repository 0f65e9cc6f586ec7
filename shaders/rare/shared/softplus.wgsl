// log(1 + exp(x)). The logarithm is a series: that of WGSL has an absolute error of 2^-21 near 1, too much for the
// small time steps of state-space models.
fn softplus(x: f32) -> f32 {
    // mutant (ssm_scan): exp(-abs(x)) => exp(-max(x, 0.0))
    let e = exp(-abs(x));
    // log(1 + e) = 2 artanh(z), z at most 1/3.
    let z = e / (2.0 + e);
    let s = z * z;
    // mutant (ssm_scan): 1.0 / 3.0 + => 1.0 / 4.0 +
    let series = 1.0 + s * (1.0 / 3.0 + s * (0.2 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s / 11.0))));
    return max(x, 0.0) + 2.0 * z * series;
}
