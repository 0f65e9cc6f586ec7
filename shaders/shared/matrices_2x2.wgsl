// Subgroup matrices of sums that a subgroup keeps: DOWN along the tokens, ACROSS along the rows of W.
const DOWN = 2u;
const ACROSS = 2u;
