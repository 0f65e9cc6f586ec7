// A subgroup matrix of sums is M × N, of K products each.
const M = 8u;
const N = 8u;
const K = 8u;
