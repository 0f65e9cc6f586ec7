// y[n, o, p] = activation(Σ_k w[k, o] · x[n, channel(k), place(p, tap(k))] + bias[o])          convolution as a product
//
// In tiles of 64 × 64, by 64 threads.

// mutant: const SIDE = 8u => const SIDE = 4u
const SIDE = 8u;

#import conv_tile
