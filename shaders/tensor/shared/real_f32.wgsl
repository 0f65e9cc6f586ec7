// Products and sums in f32.
alias real = f32;

const FLUSH = false; // the sums are f32 already
