//! Prints where the time of a token and of a prompt goes on a device that is a few numbers: `npm run costs`.

mod predict;
mod report;
mod shapes;

use std::io::Write;

use predict::{Asked, Measured, Question, device, passes, rows};
use report::{Group, json, table};

const HELP: &str = "npm run costs -- [options]
  --model NAME|FILE   a published shape, or a GGUF file that ends in .gguf; llama-1b
  --type TYPE         of a shape's matrices: Q4_0, Q8_0, Q4_K; Q4_0
  --device NAME|FILE  of tools/costs/devices.json, or a file that ends in .json with one device; h200
  --precision P       auto, exact or fast; auto
  --context N         tokens before the one that is written; 512
  --prompt N          tokens of the prompt that is read; 512
  --measured          what tools/costs/measured.json has of the device, beside what is predicted
  --rows              of tables: what other rows than the table's would cost
  --json              the same as JSON";

/// What the command line asks for.
struct Options {
    question: Question,
    measured: bool,
    rows: bool,
    json: bool,
}

impl Options {
    fn of(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { question: Question::default(), measured: false, rows: false, json: false };
        let question = &mut options.question;
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} wants a value"));
            let number = |text: String| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
            match name.as_str() {
                "--model" => question.model = value()?,
                "--type" => question.ty = value()?,
                "--device" => question.device = value()?,
                "--context" => question.context = number(value()?)?,
                "--prompt" => question.prompt = number(value()?)?.max(2),
                "--precision" => question.precision = value()?,
                "--measured" => options.measured = true,
                "--rows" => options.rows = true,
                "--json" => options.json = true,
                _ => return Err(format!("{HELP}\n\nshapes: {}", shapes::names()?.join(", "))),
            }
        }
        Ok(options)
    }
}

fn main() {
    let asked = Options::of(std::env::args().skip(1));
    let told = asked.and_then(|of| match () {
        () if of.measured => beside_measured(&of),
        () if of.rows => other_rows(&of),
        () => one(&of),
    });
    match told {
        // Whoever reads may have read enough.
        Ok(text) => drop(std::io::stdout().write_all(text.as_bytes())),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

fn one(Options { question, json: is_json, .. }: &Options) -> Result<String, String> {
    let (about, device) = device(&question.device)?;
    let [token, prompt] = passes(question, &device)?;
    let (context, tokens) = (question.context, question.prompt);
    let mut text = String::new();
    if !is_json {
        text += &format!("{} {} on {about}\n", question.model, question.ty);
    }
    for (title, tokens, wait_us, dispatches) in [
        (format!("a token after {context}"), 1, 0.0, &token),
        (format!("a prompt of {tokens}"), tokens, device.wait_ms * 1e3, &prompt),
    ] {
        let groups = Group::all(&device, dispatches);
        text += &match is_json {
            true => format!("{}\n", json(&title, tokens, wait_us, &groups)),
            false => format!("\n{}", table(&title, tokens, wait_us, &groups)),
        };
    }
    Ok(text)
}

/// Predicted and measured tokens per second, as a table of Markdown.
fn beside_measured(options: &Options) -> Result<String, String> {
    let device = &options.question.device;
    let mut text = format!("| {device} | predicted | measured | | record |\n| --- | --- | --- | --- | --- |\n");
    for row in Measured::all()?.into_iter().filter(|row| row.of.device == *device) {
        let predicted = row.predicted()?;
        let Question { model, ty, precision, context, prompt, .. } = &row.of;
        let what = if row.reads { format!("a prompt of {prompt}") } else { format!("a token after {context}") };
        let precise = if precision == "auto" { String::new() } else { format!(", {precision}") };
        let measured = if row.rate[0] < row.rate[1] {
            row.rate.map(|x| x.to_string()).join("–")
        } else {
            row.rate[0].to_string()
        };
        let off = 100.0 * row.off(predicted);
        let why = row.outside.map_or(String::new(), |why| format!("; {why}"));
        let line = format!(
            "| {model} {ty}, {what}{precise} | {predicted:.0} | {measured} | {off:+.0} % | {}{why} |\n",
            row.record
        );
        text += &line;
    }
    Ok(text)
}

/// For each problem the table's row and the one that is predicted to be the fastest, as a table of Markdown.
fn other_rows(options: &Options) -> Result<String, String> {
    let (_, device) = device(&options.question.device)?;
    let mut text =
        String::from("| problem | table: row, µs of a pass | best: row, µs | |\n| --- | --- | --- | --- |\n");
    for Asked { problem, table, rows } in rows(&options.question, &device)? {
        // Tables of `mat_vec` are for a token, the others for a prompt.
        let pass = usize::from(!problem.starts_with("mat_vec"));
        let mut by_time: Vec<(u32, f64)> = rows.iter().map(|(row, us)| (*row, us[pass])).collect();
        by_time.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let of_table = by_time.iter().find(|(row, _)| *row == table).map_or(0.0, |(_, us)| *us);
        let (best, us) = by_time.first().copied().unwrap_or((table, of_table));
        let off = 100.0 * (us / of_table - 1.0);
        text += &format!("| {problem} | {table}, {of_table:.0} | {best}, {us:.0} | {off:+.1} % |\n");
    }
    Ok(text)
}
