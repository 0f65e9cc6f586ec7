// A quarter of the largest tile: for devices of large subgroups, or of little workgroup memory.
const GROUPS_DOWN = 2u;   // subgroups along the tokens
const GROUPS_ACROSS = 2u; // along the rows of W

#import matrices_2x2
#import step_of_one
#import one_step_ahead
