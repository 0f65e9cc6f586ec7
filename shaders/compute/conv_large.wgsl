// y[n, o, p] = activation(Σ_k w[k, o] · x[n, channel(k), place(p, tap(k))] + bias[o])          convolution as a product
//
// In tiles of 128 × 128, by 256 threads: half the operands for a product, for results that have enough tiles.

// mutant: const SIDE = 16u => const SIDE = 8u
const SIDE = 16u;

#import conv_tile
