// Threads along a side of a tile.
const SIDE = 16u;
