// Teams that are subgroups, of any size and however the device forms them: they number themselves as they come.
struct Team {
    index: u32, // of the team in its workgroup
    lane: u32,  // of the thread in its team
    lanes: u32, // threads of a team
}

var<workgroup> joined: atomic<u32>; // teams that have a number
var<workgroup> teams: u32;

fn join_team(thread: u32) -> Team {
    // Workgroup memory starts as 0, but SwiftShader clears it when a subgroup starts, which may be after another has
    // gone on.
    workgroupBarrier();
    let lanes = subgroupAdd(1u);
    let lane = subgroupExclusiveAdd(1u);
    var index = 0u;
    if lane == 0u {
        index = atomicAdd(&joined, 1u);
    }
    index = subgroupBroadcastFirst(index);
    return Team(index, lane, lanes);
}

// Teams of the workgroup, after join_team. A value of its own, since what a struct holds does not count as uniform.
fn count_teams(thread: u32) -> u32 {
    workgroupBarrier();
    if thread == 0u {
        teams = atomicLoad(&joined);
    }
    return workgroupUniformLoad(&teams);
}

// Adds up each of a team's sums: every lane gets the total.
fn team_sums(sums: ptr<function, array<f32, SUMS_MOST>>, team: Team, thread: u32) {
    for (var i = 0u; i < SUMS; i += 1u) {
        (*sums)[i] = subgroupAdd((*sums)[i]);
    }
}
