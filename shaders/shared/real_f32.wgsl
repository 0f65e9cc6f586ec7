// Products and sums in f32.
alias real = f32;

const FLUSH = false; // sums need no rest
