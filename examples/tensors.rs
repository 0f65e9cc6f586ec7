//! Tensors on the GPU from Rust, on any driver for Vulkan, Metal or DirectX 12:
//! `cargo run --example tensors`.

use webgguf::{Device, Result, SinkhornOptions, Tensor};

fn main() -> Result<()> {
    pollster::block_on(run())
}

async fn run() -> Result<()> {
    let device = Device::new().await?;
    println!("{}", device.info());

    // Operations are queued: only reading waits.
    let a = device.tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let b = device.tensor([3, 2], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])?;
    print("softmax(a · b)", &a.matmul(&b)?.softmax()?).await?;

    // The nearest matrix whose rows and columns add up to 1.
    let costs = device.tensor([3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0])?;
    let plan = costs.sinkhorn(&SinkhornOptions { tolerance: Some(1e-6), ..Default::default() })?;
    print("sinkhorn", &plan).await?;
    print("sums of its columns", &plan.sum(Some(0))?).await?;

    // Any formula in one dispatch; nothing between is stored.
    let [gate, up] = [a.narrow(0, 0, 1)?, a.narrow(0, 1, 1)?];
    print("silu(gate) · up + 0.5", &Tensor::fuse([&gate, &up], |[gate, up]| gate.silu() * up + 0.5)?).await?;

    // What does not fit is an error at the call, with both shapes.
    if let Err(error) = a.matmul(&a) {
        println!("{error}");
    }
    Ok(())
}

async fn print(name: &str, tensor: &Tensor) -> Result<()> {
    println!("{name} {tensor}");
    for row in tensor.read().await?.chunks(tensor.shape().last().map_or(1, |&width| width as usize)) {
        println!("  {row:8.4?}");
    }
    Ok(())
}
