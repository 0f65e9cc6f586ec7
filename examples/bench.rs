//! How fast a model reads and writes on a native GPU, as `www/bench.html` measures it in a page:
//! `cargo run --release --example bench -- model.gguf`.
//!
//! `--prompt N` tokens are read and `--predict N` written, greedily and without speculative decoding, `--runs N` times
//! after one that does not count; `--gpu` takes an adapter in software, too, and `--cpu` none.

use webgguf::{Backend, Drafting, Error, GenerateOptions, LoadOptions, Model, Outcome, Result};

struct Settings {
    path: String,
    backend: Backend,
    prompt: usize,
    predict: usize,
    runs: usize,
}

fn main() {
    let Some(settings) = settings() else {
        eprintln!("usage: bench MODEL.gguf [--prompt N] [--predict N] [--runs N] [--gpu | --cpu]");
        std::process::exit(2);
    };
    if let Err(error) = run(&settings) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn settings() -> Option<Settings> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let number = |name: &str, default: usize| match arguments.iter().position(|argument| argument == name) {
        Some(at) => arguments.get(at + 1)?.parse().ok(),
        None => Some(default),
    };
    let backend = match (has("--gpu"), has("--cpu")) {
        (true, _) => Backend::Gpu,
        (_, true) => Backend::Cpu,
        _ => Backend::Auto,
    };
    let path = arguments.first().filter(|path| !path.starts_with("--"))?.clone();
    let [prompt, predict, runs] = [number("--prompt", 512)?, number("--predict", 128)?, number("--runs", 5)?];
    (prompt > 0 && predict > 1).then_some(Settings { path, backend, prompt, predict, runs })
}

fn run(settings: &Settings) -> Result<()> {
    let Settings { path, backend, prompt, predict, runs } = settings;
    let context_length = Some(prompt + predict);
    let mut model = Model::load_with(path, &LoadOptions { backend: *backend, context_length, ..Default::default() })?;
    let place = model.info().device.map_or("the CPU".to_owned(), |device| device.to_string());
    println!("{path} on {place}: {prompt} tokens read, {predict} written");
    let text = text_of(&model, *prompt)?;
    let options =
        GenerateOptions { max_tokens: Some(*predict), ignore_eos: true, drafting: Drafting::Off, ..Default::default() };
    for number in 0..=*runs {
        model.reset();
        let outcome = model.generate(&text, &options)?;
        if number > 0 {
            print(number, &outcome);
        }
    }
    Ok(())
}

/// A text of `count` tokens.
fn text_of(model: &Model, count: usize) -> Result<String> {
    let words = (0..count).map(|word| format!(" {}", word * 7 % 100));
    let mut text = String::new();
    for word in words {
        text.push_str(&word);
        if model.tokenize(&text).len() >= count {
            return Ok(text);
        }
    }
    Err(Error::invalid_argument(format!("no text of {count} tokens was found")))
}

fn print(number: usize, outcome: &Outcome) {
    let read = outcome.prompt_tokens as f64 / (outcome.first_token_ms / 1e3);
    let written = (outcome.ids.len() - 1) as f64 / (outcome.decode_ms / 1e3);
    println!(
        "run {number}: first token after {:.2} ms ({read:.0} tokens/s of {}), then {written:.1} tokens/s",
        outcome.first_token_ms, outcome.prompt_tokens
    );
}
