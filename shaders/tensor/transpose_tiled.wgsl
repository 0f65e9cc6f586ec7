// y[b, j, i] = x[b, i, j] by strides, where neighbours in x have neighbouring j and neighbours in y neighbouring i.
// One workgroup transposes a tile of 32×32 in workgroup memory, so that it reads and writes whole rows.

override WG_SIZE: u32 = 256;
override SIXTEEN_BIT: bool; // elements are 16 bits, two to a word; rows and the strides of y are then even

struct Params {
    rows: u32,     // i
    columns: u32,  // j
    batches: u32,  // three axes, multiplied
    batch_1: u32,  // size of the second
    batch_2: u32,  // size of the third
    x_row: u32,    // stride of i in x; that of j is 1
    x_0: u32,      // strides of the batch axes in x
    x_1: u32,
    x_2: u32,
    y_row: u32,    // stride of j in y; that of i is 1
    y_0: u32,
    y_1: u32,
    y_2: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // words or pairs of halves
@group(0) @binding(2) var<storage, read_write> y: array<u32>; // likewise

const TILE: u32 = 32u;

// One more column than the tile has, so that a column is spread over different banks.
var<workgroup> tile: array<u32, 1056>;

fn element(at: u32) -> u32 {
    if SIXTEEN_BIT {
        return (x[at / 2u] >> (16u * (at & 1u))) & 0xffffu;
    }
    return x[at];
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_tiles = (params.rows + TILE - 1u) / TILE;
    let tiles = row_tiles * ((params.columns + TILE - 1u) / TILE);
    // mutant: let index = group.y * groups.x + group.x; => let index = group.x;
    let index = group.y * groups.x + group.x;
    let batch = index / tiles;
    if batch >= params.batches {
        return;
    }
    // mutant: (index % tiles) / row_tiles) => index / row_tiles)
    let first = TILE * vec2<u32>((index % tiles) % row_tiles, (index % tiles) / row_tiles);
    let b = vec3<u32>(
        // mutant: batch / params.batch_2 % params.batch_1 => batch / params.batch_2
        batch / params.batch_2 / params.batch_1, batch / params.batch_2 % params.batch_1, batch % params.batch_2,
    );
    let x_start = dot(b, vec3<u32>(params.x_0, params.x_1, params.x_2));
    // mutant: params.y_0, params.y_1, params.y_2 => params.y_0, params.y_2, params.y_1
    let y_start = dot(b, vec3<u32>(params.y_0, params.y_1, params.y_2));
    let across = lane % TILE;
    for (var down = lane / TILE; down < TILE; down += WG_SIZE / TILE) {
        let i = first.x + down;
        let j = first.y + across;
        if i < params.rows && j < params.columns {
            tile[down * (TILE + 1u) + across] = element(x_start + i * params.x_row + j);
        }
    }
    workgroupBarrier();
    let width = select(TILE, TILE / 2u, SIXTEEN_BIT);
    let step = select(1u, 2u, SIXTEEN_BIT);
    // mutant: let i = first.x + step * (lane % width); => let i = first.x + lane % width;
    let i = first.x + step * (lane % width);
    for (var down = lane / width; down < TILE; down += WG_SIZE / width) {
        let j = first.y + down;
        if i < params.rows && j < params.columns {
            let at = (i - first.x) * (TILE + 1u) + down;
            let to = y_start + j * params.y_row + i;
            if SIXTEEN_BIT {
                // mutant: tile[at + TILE + 1u] => tile[at + 1u]
                y[to / 2u] = tile[at] | (tile[at + TILE + 1u] << 16u);
            } else {
                y[to] = tile[at];
            }
        }
    }
}
