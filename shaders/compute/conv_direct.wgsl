// y[n, o, p] = activation(Σ_k w[k, o] · x[n, channel(k), place(p, tap(k))] + bias[o])
// for groups of few channels
//
// One thread computes one element of y: a depthwise convolution has no two that share a product's operands.

const WG_SIZE = 256u;

#import convolution

override W_KIND: u32; // how w is stored: see stored.wgsl

@group(0) @binding(2) var<storage, read> w: array<u32>; // [taps, channels, groups · rows]

fn load_w(i: u32) -> f32 {
    return stored_value(w[stored_word(i, W_KIND)], i, W_KIND);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group_id.y * groups.x + group_id.x) => group_id.x
    let i = (group_id.y * groups.x + group_id.x) * WG_SIZE + lane;
    let places = places_of_y();
    let rows = params.groups * params.rows;
    if i >= params.columns * rows {
        return;
    }
    let row = i / places % rows;
    let sample = i / places / rows;
    let place = place_of(i % places);
    let of_channel = params.in_0 * params.in_1 * params.in_2;
    // mutant: row / params.rows => row
    let start = (sample * params.groups + row / params.rows) * params.channels * of_channel;
    var sum = 0.0;
    for (var tap = 0u; tap < params.taps; tap += 1u) {
        let element = element_at(place_in_x(place, tap));
        if element == OUTSIDE {
            continue;
        }
        // mutant: channel < params.channels; => channel < 1u;
        for (var channel = 0u; channel < params.channels; channel += 1u) {
            let value = load_x(start + channel * of_channel + element);
            sum += value * load_w((tap * params.channels + channel) * rows + row);
        }
    }
    write_one(row, sample * places + i % places, sum);
}
