//! What comes back from the GPU while earlier reads are dropped.

use std::rc::Rc;

use webgguf::gpu::{Buffer, Copy, Device, Ring};

/// Bytes of a copy that the GPU is busy with for some time.
const LARGE: u64 = 64 << 20;

/// Lets the GPU be busy, and then copies `value` into a buffer of `ring`.
fn read_later(device: &Device, ring: &mut Ring, value: u32, [source, from, to]: [&Buffer; 3]) {
    device.write(source, 0, &value.to_le_bytes());
    let busy = Copy { source: from, source_offset: 0, target: to, offset: 0, bytes: LARGE };
    (0..16).for_each(|_| device.copy([busy.clone()]));
    let read = ring.reserve(device).expect("room").expect("a free buffer");
    device.copy([Copy { source, source_offset: 0, target: read.buffer(), offset: 0, bytes: 4 }]);
    ring.submitted(device, read);
}

/// Buffers of dropped reads are used again while the GPU is still busy with what was dropped.
pub async fn a_dropped_read_is_not_taken_for_a_later_one() {
    let device = Rc::new(Device::open().await.expect("a WebGPU device"));
    // It outlives its thread, whose end would close it after wgpu's own data of the thread are gone.
    #[cfg(not(target_arch = "wasm32"))]
    std::mem::forget(device.clone());
    let make = |bytes| device.storage_buffer("test", bytes).expect("room");
    let (source, from, to) = (make(16), make(LARGE), make(LARGE));
    let mut ring = Ring::new(&device, 2, 16).expect("room");
    for round in 0..2 {
        let values = [4 * round + 1, 4 * round + 2, 4 * round + 3, 4 * round + 4];
        values[..2].iter().for_each(|&value| read_later(&device, &mut ring, value, [&source, &from, &to]));
        assert!(!ring.has_free() && ring.reserve(&device).expect("room").is_none());
        ring.discard();
        assert_eq!((ring.in_flight(), ring.has_free()), (0, true));
        values[2..].iter().for_each(|&value| read_later(&device, &mut ring, value, [&source, &from, &to]));
        for value in &values[2..] {
            let found = ring.next(&device).await.expect("a working device").expect("a read in flight");
            assert_eq!(found[..4], value.to_le_bytes(), "round {round}");
        }
        assert!(ring.next(&device).await.expect("a working device").is_none());
    }
    assert!(ring.bytes() <= 4 * 16, "{} bytes of reads", ring.bytes());
}
