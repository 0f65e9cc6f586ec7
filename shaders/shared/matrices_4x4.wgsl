// Subgroup matrices of sums that a subgroup keeps: DOWN along the tokens, ACROSS along the rows of W.
const DOWN = 4u;
const ACROSS = 4u;
