// y[r, i] = (v[i] - mean v) / sqrt(mean_j (v[j] - mean v)² + eps) · (offset + weight[i]) + bias[i]
// with v[i] = x[r, i] + residual[r, i]; without weight or bias the factor is 1, the summand 0.
// (Ba, Kiros & Hinton 2016, arXiv 1607.06450)

// mutant: CENTRED: bool = true => CENTRED: bool = false
const CENTRED: bool = true;

#import norm_rows
