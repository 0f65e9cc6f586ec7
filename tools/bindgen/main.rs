//! `wasm-bindgen --target web --out-dir FOLDER [flags] MODULE`, with the flags of wasm-bindgen's program that the build
//! uses.

use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--version"] {
        println!("wasm-bindgen {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    // As in wasm-bindgen's program, an address is left out only where this is asked for.
    bindgen.omit_default_module_path(false).typescript(true);
    let (mut module, mut folder, mut is_web) = (None, None, false);
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "--target" => is_web = rest.next() == Some("web"),
            "--out-dir" => folder = rest.next(),
            "--no-typescript" => drop(bindgen.typescript(false)),
            "--omit-default-module-path" => drop(bindgen.omit_default_module_path(true)),
            "--remove-producers-section" => drop(bindgen.remove_producers_section(true)),
            _ if argument.starts_with('-') => return Err(format!("unknown: {argument}")),
            _ => module = Some(argument),
        }
    }
    let (Some(module), Some(folder), true) = (module, folder, is_web) else {
        return Err("usage: wasm-bindgen --target web --out-dir FOLDER [flags] MODULE".into());
    };
    bindgen.input_path(module);
    bindgen.web(true).map_err(|error| format!("{error:#}"))?;
    bindgen.generate(folder).map_err(|error| format!("{error:#}"))
}
