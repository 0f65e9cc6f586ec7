override WG_SIZE: u32 = 64;
override INPUTS: u32;  // 1–6
override DTYPES: u32;  // 4 bits per input, then the result's in bits 24–27: F32 … I32
override ACCESS: u32;  // 2 bits per input: AS_OUTPUT, BY_QUAD or BY_ELEMENT
// The operation in bits 0–7 (0: no step), then 6 bits per argument: 0–5 inputs, 8–23 results of steps, 24–39 numbers.
override STEP0: u32;
override STEP1: u32;
override STEP2: u32;
override STEP3: u32;
override STEP4: u32;
override STEP5: u32;
override STEP6: u32;
override STEP7: u32;
override STEP8: u32;
override STEP9: u32;
override STEP10: u32;
override STEP11: u32;
override STEP12: u32;
override STEP13: u32;
override STEP14: u32;
override STEP15: u32;

const AS_OUTPUT: u32 = 0u;  // of the result's shape
const BY_QUAD: u32 = 1u;    // four neighbours of the result are one element, or four neighbours at a multiple of 4
const BY_ELEMENT: u32 = 2u; // each element has a place of its own

struct Params {
    len: u32,                   // elements of the result
    rank: u32,                  // axes in use
    pad0: u32,
    pad1: u32,
    axes: array<vec4<u32>, 10>, // two per axis, the innermost first: strides of inputs 0–3; of 4 and 5, then the size
    numbers: array<vec4<f32>, 4>,
}
