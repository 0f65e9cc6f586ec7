// By the distance of the key.
// mutant (attention): behind + f32(query) => behind
value += distance_bias(HEADS, -(behind + f32(query)));
