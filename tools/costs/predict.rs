//! Devices and models by name, and what the cost of their passes predicts.

use std::collections::BTreeMap;

use serde::Deserialize;
use webgguf::forward::{Buffers, Forward, Plan, Room, place};
use webgguf::gguf::GgmlType;
use webgguf::harness::costs::{Costed, Costs, Device};
use webgguf::kernels::caps::{Caps, Precision};
use webgguf::kernels::tuned::Tuned;
use webgguf::model::{match_tensors, program};

use crate::shapes;

/// What is to be predicted.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Question {
    /// A device of `devices.json`, or a file.
    pub device: String,
    /// A model of `shapes.json`, or a file.
    pub model: String,
    /// The tensor type of a shape's matrices.
    #[serde(rename = "type")]
    pub ty: String,
    /// `precision` of `load`.
    pub precision: String,
    /// Tokens before the one that is written.
    pub context: u64,
    /// Tokens of the prompt that is read.
    pub prompt: u64,
}

impl Default for Question {
    fn default() -> Self {
        let [device, model, ty, precision] = ["h200", "llama-1b", "Q4_0", "auto"].map(str::to_owned);
        Self { device, model, ty, precision, context: 512, prompt: 512 }
    }
}

/// A line of `measured.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Measured {
    /// What was measured.
    #[serde(flatten)]
    pub of: Question,
    /// Whether it is a prompt; else a token.
    #[serde(default)]
    pub reads: bool,
    /// Tokens per second, lowest and highest.
    pub rate: [f64; 2],
    /// Where from.
    pub record: String,
    /// Why the prediction is off by more than a quarter, if it is.
    #[serde(default)]
    pub outside: Option<String>,
}

impl Measured {
    /// All lines.
    pub fn all() -> Result<Vec<Self>, String> {
        serde_json::from_str(include_str!("measured.json")).map_err(|error| format!("measured.json: {error}"))
    }

    /// Tokens per second that are predicted.
    pub fn predicted(&self) -> Result<f64, String> {
        let (_, device) = device(&self.of.device)?;
        let [token, prompt] = passes(&self.of, &device)?;
        let us = |list: &[Costed]| list.iter().map(|of| device.time(&of.work).total()).sum::<f64>();
        Ok(match self.reads {
            true => self.of.prompt as f64 / (us(&prompt) + device.wait_ms * 1e3) * 1e6,
            false => 1e6 / us(&token),
        })
    }

    /// How far a prediction is from the middle of what was measured.
    pub fn off(&self, predicted: f64) -> f64 {
        predicted / f64::midpoint(self.rate[0], self.rate[1]) - 1.0
    }
}

/// A device of `devices.json`, with what it says about itself.
#[derive(Deserialize)]
struct Described {
    #[serde(default)]
    about: String,
    #[serde(flatten)]
    device: serde_json::Value,
}

/// What a device says about itself, and its numbers.
pub fn device(name: &str) -> Result<(String, Device), String> {
    let mut all: BTreeMap<String, Described> =
        serde_json::from_str(include_str!("devices.json")).map_err(|error| format!("devices.json: {error}"))?;
    let Described { about, device } = match all.remove(name) {
        Some(found) => found,
        None if name.ends_with(".json") => {
            let text = std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
            serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?
        }
        None => return Err(format!("no device {name}; there are {:?}", all.keys().collect::<Vec<_>>())),
    };
    let device = serde_json::from_value(device).map_err(|error| format!("{name}: {error}"))?;
    Ok((if about.is_empty() { name.to_owned() } else { about }, device))
}

/// A problem that a table was asked, and the µs of a token and of a prompt with each row that the device can run.
pub struct Asked {
    /// Kernel, type and sizes.
    pub problem: String,
    /// The row that the table chooses.
    pub table: u32,
    /// Rows, the table's among them.
    pub rows: Vec<(u32, [f64; 2])>,
}

/// What each table is asked for the passes, and what other rows would cost.
pub fn rows(of: &Question, device: &Device) -> Result<Vec<Asked>, String> {
    let tuned = Tuned::default();
    tuned.listen();
    passes_by(of, device, &tuned)?;
    let heard = tuned.heard();
    let asked = |line: &str| {
        let (problem, numbers) = line.split_once('=').ok_or("no problem")?;
        let numbers: Vec<u32> = numbers.split(',').filter_map(|number| number.parse().ok()).collect();
        let [table, mask] = numbers[..] else { return Err(format!("{line}: not two numbers")) };
        let can_run = (0..u32::BITS).filter(|row| mask >> row & 1 == 1);
        let us = |row: u32| {
            let passes = passes_by(of, device, &Tuned::of(&format!("{problem}={row}")))?;
            let us = passes.map(|list| list.iter().map(|of| device.time(&of.work).total()).sum());
            Ok((row, us))
        };
        let rows = can_run.map(us).collect::<Result<_, String>>()?;
        Ok(Asked { problem: problem.to_owned(), table, rows })
    };
    heard.lines().map(asked).collect()
}

/// The dispatches of a token after others, and of a prompt.
pub fn passes(of: &Question, device: &Device) -> Result<[Vec<Costed>; 2], String> {
    passes_by(of, device, &Tuned::default())
}

fn passes_by(of: &Question, device: &Device, tuned: &Tuned) -> Result<[Vec<Costed>; 2], String> {
    let ty = GgmlType::ALL.into_iter().find(|ty| ty.name() == of.ty).ok_or_else(|| format!("no type {}", of.ty))?;
    let (config, tensors) = match of.model.ends_with(".gguf") {
        true => shapes::file(&of.model)?,
        false => shapes::shape(&of.model, ty)?,
    };
    let fail = |error: webgguf::Error| error.to_string();
    let precision: Precision =
        serde_json::from_value(of.precision.clone().into()).map_err(|error| error.to_string())?;
    let caps = Caps { tuned: tuned.clone(), ..device.caps(precision) };
    let (program, mut plan) = (program(&config), Plan::default());
    let matched = match_tensors(&config, &tensors).map_err(fail)?;
    let weights = place(&program, &caps, &tensors, matched, &mut plan).map_err(fail)?.weights;
    let buffers = Buffers::alloc(&program, config.vocab, Room::one(config.context_length.min(4096)), &mut plan);
    let costs = Costs { forward: Forward::new(&program, &caps, &weights, &buffers), plan: &plan };
    Ok([costs.decode(of.context)?, costs.prefill(of.prompt)?])
}
