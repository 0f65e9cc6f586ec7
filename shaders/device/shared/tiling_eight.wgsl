// The same tile for eight subgroups, with more threads to hide how long loads take.
const GROUPS_DOWN = 2u;   // subgroups along the tokens
const GROUPS_ACROSS = 4u; // along the rows of W

#import matrices_4x2
#import step_of_two
#import two_steps_ahead
