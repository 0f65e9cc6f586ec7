// Parts of a link: the next place with the same index, and a bit for those that are not the first or not to be used.
// mutant (scatter_add): NONE: u32 = 0x7fffffffu => NONE: u32 = 0xffffffffu
const NONE: u32 = 0x7fffffffu;
const LATER: u32 = 0x80000000u;
