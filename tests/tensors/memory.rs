use crate::bench::{Bench, check};

pub async fn freed_tensors_make_room() {
    let mut bench = Bench::new(51).await;
    let (x, values) = bench.floats([1 << 18]);
    let mut y = x.copy().unwrap();
    let before = bench.device.bytes();
    for _ in 0..200 {
        y = y.add(1.0).unwrap();
    }
    // The one that is read and the one that is written; a mebibyte each.
    assert!(bench.device.bytes() <= before + (1 << 20), "{} bytes, {before} before", bench.device.bytes());
    check("x + 200", &y, &[1 << 18], values.iter().map(|x| x + 200.0)).await;
    bench.device.finish().await.unwrap();
}

pub async fn a_tensor_lives_as_long_as_its_clones() {
    let mut bench = Bench::new(52).await;
    let (x, values) = bench.floats([5]);
    let clone = x.clone();
    drop(x);
    // Would take the buffer of x.
    let (_other, _) = bench.floats([5]);
    let Bench { device, .. } = bench;
    drop(device);
    check("the clone", &clone, &[5], values).await;
}
