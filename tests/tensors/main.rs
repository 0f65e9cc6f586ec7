//! Tensors from Rust: every operation against its reference, on odd shapes. Natively:
//! `cargo test --features harness --test tensors`; in a browser as the other tests for wasm32.
#![cfg(all(feature = "harness", feature = "tensors"))]

mod bench;
mod elementwise;
mod errors;
mod matrix;
mod memory;
mod model;
mod movement;
mod readback;
mod rows;

/// A test for each of these functions, which are asynchronous.
macro_rules! tests {
    ($($group:ident: $($name:ident),*;)*) => {
        #[cfg(target_arch = "wasm32")]
        mod browser {
            use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

            wasm_bindgen_test_configure!(run_in_browser);
            $($(
                #[wasm_bindgen_test]
                async fn $name() {
                    crate::$group::$name().await;
                }
            )*)*
        }

        #[cfg(not(target_arch = "wasm32"))]
        mod native {
            $($(
                #[test]
                fn $name() {
                    pollster::block_on(crate::$group::$name());
                }
            )*)*
        }
    };
}

tests! {
    elementwise: operations_of_one_argument, operations_of_two, numbers_beside_tensors, formulas, types;
    matrix: products, products_with_blocks, gated_products, products_of_experts;
    rows: softmax, norms, reductions, largest, running_sums;
    movement: axes, pieces, indices, many_indices;
    model: rotations, attention, caches, scans, doubly_stochastic;
    memory: freed_tensors_make_room, a_tensor_lives_as_long_as_its_clones;
    readback: a_dropped_read_is_not_taken_for_a_later_one;
    errors: wrong_inputs_are_named, devices_do_not_mix, only_plain_numbers_are_read;
}
