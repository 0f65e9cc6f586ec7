// Teams that are subgroups, of LANES threads or, with 0, of any size. As everywhere, a subgroup is consecutive threads
// of a workgroup in one dimension, which WebGPU does not promise.
struct Team {
    index: u32, // of the team in its workgroup
    lane: u32,  // of the thread in its team
    lanes: u32, // threads of a team
}

fn join_team(thread: u32) -> Team {
    let lanes = select(LANES, subgroupAdd(1u), LANES == 0u); // a power of two
    return Team(thread >> firstTrailingBit(lanes), thread & (lanes - 1u), lanes);
}

// Adds up each of a team's sums: every lane gets the total.
fn team_sums(sums: ptr<function, array<f32, SUMS_MOST>>, team: Team, thread: u32) {
    for (var i = 0u; i < SUMS; i += 1u) {
        (*sums)[i] = subgroupAdd((*sums)[i]);
    }
}
