// Takes GGUF blocks apart into the sections of a packed matrix: see kernels/layout.rs for what goes where.
// One thread converts one block of 32 weights (a K-quant's super-block is eight of them); the first thread of a
// super-block also converts what the eight share. Padding is not written: the target's must be zero before.

override WG_SIZE: u32 = 64;
override COLS: u32;
override GRID_WORDS: u32;    // of the type's grid; 0: it has none
override TABLE_AT: u32 = 0u; // word of the target where the grid goes

override BLOCKS: u32 = (COLS + 31u) / 32u; // blocks of a row

struct Params {
    dst_row: u32,    // row of the target that the first raw row becomes
    rows: u32,       // raw rows
    raw_offset: u32, // byte of `raw` where they start; any
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> raw: array<u32>;                // bytes of the file: whole rows
@group(0) @binding(2) var<storage, read> grid: array<u32>;               // [GRID_WORDS]
@group(0) @binding(3) var<storage, read_write> dst: array<atomic<u32>>; // the packed matrix, or the shard

fn raw_byte(at: u32) -> u32 {
    return (raw[at / 4u] >> (8u * (at & 3u))) & 255u;
}

fn raw_u16(at: u32) -> u32 {
    // mutant: raw_byte(at) | (raw_byte(at + 1u) << 8u) => (raw[at / 4u] >> (8u * (at & 3u))) & 0xffffu
    return raw_byte(at) | (raw_byte(at + 1u) << 8u);
}

fn raw_u32(at: u32) -> u32 {
    let low = raw[at / 4u];
    let shift = 8u * (at & 3u);
    // mutant: if shift == 0u { => if shift == 32u {
    if shift == 0u {
        return low;
    }
    return (low >> shift) | (raw[at / 4u + 1u] << (32u - shift));
}

fn put(word: u32, value: u32) {
    atomicStore(&dst[word], value);
}

// The bits of `mask << shift` of a word that other threads write other bits of.
fn put_bits(word: u32, shift: u32, mask: u32, value: u32) {
    // mutant: ~(mask << shift) => 0xffffffffu
    atomicAnd(&dst[word], ~(mask << shift));
    atomicOr(&dst[word], value << shift);
}

// Number i of the 16-bit values from word `at` on.
fn put_half(at: u32, i: u32, value: u32) {
    put_bits(at + i / 2u, 16u * (i & 1u), 0xffffu, value);
}

// repack_block(i, b): block i of the raw rows becomes block b of the target
#import repack_type

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = (group.y * groups.x + group.x) * WG_SIZE + lane;
    // Every slice writes the whole grid: the same words.
    // mutant: k < GRID_WORDS => k + 1u < GRID_WORDS
    for (var k = i; k < GRID_WORDS; k += groups.x * groups.y * WG_SIZE) {
        put(TABLE_AT + k, grid[k]);
    }
    // mutant: if i < params.rows * BLOCKS { => if i <= params.rows * BLOCKS {
    if i < params.rows * BLOCKS {
        // mutant: params.dst_row * BLOCKS + i => i
        repack_block(i, params.dst_row * BLOCKS + i);
    }
}
