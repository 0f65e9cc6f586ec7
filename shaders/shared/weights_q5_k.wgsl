// Q5_K: weight = (scale · 6-bit scale) · quant - (minimum · 6-bit minimum); five-bit quants.
#import fifth_bit
#import six_bit_scales

const BITS = 5;
const HALVES = false;

#import quants
