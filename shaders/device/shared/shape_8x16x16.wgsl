// A subgroup matrix of sums is M × N, of K products each.
const M = 8u;
const N = 16u;
const K = 16u;

#import block_of_16
