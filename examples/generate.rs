//! A model that writes, on any driver for Vulkan, Metal or DirectX 12:
//! `cargo run --release --example generate -- model.gguf "Once upon a time"`.
//!
//! `--tokens N` ends after N tokens, `--gpu` takes an adapter in software, too, and `--cpu` none.

use std::io::{Write, stdout};

use webgguf::{Backend, GenerateOptions, LoadOptions, Model, Result};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let at = arguments.iter().position(|argument| argument == "--tokens");
    let max_tokens = at.and_then(|at| arguments.get(at + 1)?.parse().ok());
    let Some((path, prompt)) = arguments.first().zip(arguments.get(1)) else {
        eprintln!("usage: generate MODEL.gguf PROMPT [--tokens N] [--gpu | --cpu]");
        std::process::exit(2);
    };
    let backend = match (has("--gpu"), has("--cpu")) {
        (true, _) => Backend::Gpu,
        (_, true) => Backend::Cpu,
        _ => Backend::Auto,
    };
    if let Err(error) = run(path, prompt, max_tokens, backend) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run(path: &str, prompt: &str, max_tokens: Option<usize>, backend: Backend) -> Result<()> {
    let mut model = Model::load_with(path, &LoadOptions { backend, ..Default::default() })?;
    let info = model.info();
    let place = match (&info.device, &info.backend_reason) {
        (Some(device), _) => device.to_string(),
        (None, Some(reason)) => format!("the CPU, since {reason}"),
        (None, None) => "the CPU".to_owned(),
    };
    eprintln!("{} {}, {} weights, on {place}\n", info.architecture, info.quantization, info.parameters);
    let options = GenerateOptions { max_tokens, ..Default::default() };
    let mut pieces = model.stream(prompt, &options)?;
    for piece in pieces.by_ref() {
        print!("{}", piece?.text);
        // Whoever reads the text may have gone.
        let _ = stdout().flush();
    }
    let outcome = pieces.finish()?;
    let tokens = outcome.ids.len();
    let speed = tokens.saturating_sub(1) as f64 / (outcome.decode_ms / 1e3);
    eprintln!(
        "\n\n{} tokens read, the first token after {:.1} ms; {tokens} written, {speed:.1} a second",
        outcome.prompt_tokens, outcome.first_token_ms
    );
    Ok(())
}
