// Half as many rows of W: more workgroups for small matrices.
const GROUPS_DOWN = 4u;   // subgroups along the tokens
const GROUPS_ACROSS = 2u; // along the rows of W

#import matrices_2x2
#import step_of_two
#import one_step_ahead
