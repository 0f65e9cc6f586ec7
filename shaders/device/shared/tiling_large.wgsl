// The largest matrices for each of four subgroups: of what is loaded, most is used most often.
const GROUPS_DOWN = 2u;   // subgroups along the tokens
const GROUPS_ACROSS = 2u; // along the rows of W

#import matrices_4x4
#import step_of_one
#import one_step_ahead
