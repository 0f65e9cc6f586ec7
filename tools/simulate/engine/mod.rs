//! A simulator of WebGPU that is stricter than any device: kernels run on the CPU from naga's modules, as WGSL permits
//! and no more. docs/correctness.md says what that means.

pub mod atomics;
pub mod code;
pub mod compile;
pub mod dispatch;
pub mod faults;
pub mod layout;
pub mod machine;
pub mod memory;
pub mod mutants;
pub mod numbers;
pub mod run;
pub mod suite;
pub mod whole;
