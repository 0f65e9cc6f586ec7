// y[r, i] = v[i] / sqrt(mean_j v[j]² + eps) · (offset + weight[i]) + bias[i]
// with v[i] = x[r, i] + residual[r, i]; without weight or bias the factor is 1, the summand 0.
// (Zhang & Sennrich 2019, arXiv 1910.07467; Gemma's norms have the offset 1)

// mutant: CENTRED: bool = false => CENTRED: bool = true
const CENTRED: bool = false;

#import norm_rows
