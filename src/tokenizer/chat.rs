//! Chat templates: the Jinja source in a GGUF file, rendered as Hugging Face's `apply_chat_template` does with Python's
//! jinja2.
//!
//! A template is part of a hostile file, so its steps, its recursion and its output are bounded. minijinja bounds
//! single operations too (repeated strings, ranges). Two things are left: a value that doubles with every step of a
//! loop may ask for more memory than there is, and one that nests deeper with every step may take more stack than there
//! is when it goes; either ends the WebAssembly instance.

use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, ErrorKind};

use super::conversation::Conversation;
use super::date::Date;
use super::{jinja, json};
use crate::error::{Error, Result};

/// What is rendered.
pub(super) struct Chat<'a> {
    pub conversation: &'a Conversation,
    pub date: Date,
    pub tokens: Tokens,
}

/// The names of the special tokens; empty where there is none.
pub(super) struct Tokens {
    pub bos: String,
    pub eos: String,
    pub unknown: String,
    pub padding: String,
}

/// Steps that a template may take: in any case, per message, per pair of messages, and per value in messages and tools.
/// Published ones take 50 to 200 per message; Gemma 4's looks back over the whole conversation at each message, with 4
/// steps per pair, and takes about 60 for each value in the schema of a tool.
const FUEL: u64 = 10_000;
const FUEL_PER_MESSAGE: u64 = 1_000;
const FUEL_PER_PAIR: u64 = 16;
const FUEL_PER_VALUE: u64 = 300;
/// How deep macro calls may nest: WebAssembly's stack is small.
const DEEPEST_CALLS: usize = 64;
const LONGEST_TEMPLATE: usize = 1 << 20;
const LONGEST_OUTPUT: usize = 64 << 20;

/// ChatML, for models that have its tokens but no template.
const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n\
                      {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// The template for a file that has none.
pub(super) fn without_template(has_chatml: bool) -> Result<&'static str> {
    if has_chatml {
        return Ok(CHATML);
    }
    Err(Error::invalid_argument(
        "the model has no chat template: give it text or ids, not messages (tokenizer.chat_template is missing and \
         <|im_start|> is not a token)",
    ))
}

/// Renders `template` with the first form of the messages that it takes; where it takes none, the error is that of the
/// usual form.
pub(super) fn render(template: &str, chat: &Chat) -> Result<String> {
    if template.len() > LONGEST_TEMPLATE {
        let found = template.len();
        return Err(Error::invalid_argument(format!(
            "the chat template has {found} bytes, at most {LONGEST_TEMPLATE} are allowed"
        )));
    }
    let source = jinja::prepared(template)?;
    let environment = environment(chat).map_err(template_error)?;
    let template = environment.template_from_str(&source).map_err(template_error)?;
    let mut first = None;
    for messages in chat.conversation.forms() {
        let mut out = Capped(Vec::new());
        match template.render_captured_to(variables(chat, messages), &mut out) {
            Ok(_) => {
                return String::from_utf8(out.0)
                    .map_err(|_| Error::invalid_argument("chat template: the text is not UTF-8"));
            }
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.map_or_else(|| Error::invalid_argument("chat template: nothing to render"), template_error))
}

/// What the template sees; what it is always given is not for the caller to replace.
fn variables(chat: &Chat, messages: Vec<Value>) -> Value {
    let (tokens, conversation) = (&chat.tokens, chat.conversation);
    let tools = conversation.tools.clone().map_or(Value::from(()), Value::from);
    let own = [
        ("messages", Value::from(messages)),
        ("add_generation_prompt", conversation.add_generation_prompt.into()),
        ("tools", tools),
        ("documents", Value::from(())),
        ("bos_token", tokens.bos.as_str().into()),
        ("eos_token", tokens.eos.as_str().into()),
        ("unk_token", tokens.unknown.as_str().into()),
        ("pad_token", tokens.padding.as_str().into()),
    ];
    let further = conversation.variables.iter().map(|(name, value)| (name.as_str(), value.clone()));
    Value::from_pairs(further.chain(own))
}

fn environment(chat: &Chat) -> std::result::Result<Environment<'static>, minijinja::Error> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    let (count, values) = (chat.conversation.messages.len() as u64, chat.conversation.size());
    let fuel = FUEL + FUEL_PER_MESSAGE * count + FUEL_PER_PAIR * count * count + FUEL_PER_VALUE * values;
    environment.set_fuel(Some(fuel));
    environment.set_recursion_limit(DEEPEST_CALLS);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_formatter(|out, _, value| {
        // As Python writes them.
        let text = match value.kind() {
            ValueKind::None => "None",
            ValueKind::Bool if value.is_true() => "True",
            ValueKind::Bool => "False",
            ValueKind::Number => &json::number(value),
            _ => return std::fmt::Write::write_fmt(out, format_args!("{value}")).map_err(minijinja::Error::from),
        };
        out.write_str(text).map_err(minijinja::Error::from)
    });
    // As Python's jinja2 has them: text and maps are sequences too, and none is not iterable.
    environment.add_test("sequence", |value: &Value| is_sequence(value.kind()));
    environment.add_test("iterable", |value: &Value| is_sequence(value.kind()) || value.kind() == ValueKind::Iterable);
    environment.add_filter("tojson", json::tojson);
    environment.add_function("raise_exception", |message: String| -> std::result::Result<(), minijinja::Error> {
        Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
    });
    let date = chat.date;
    environment.add_function("strftime_now", move |format: String| date.format(&format));
    Ok(environment)
}

fn is_sequence(kind: ValueKind) -> bool {
    use ValueKind::{Bytes, Map, Seq, String, Undefined};
    matches!(kind, Bytes | Map | Seq | String | Undefined)
}

/// Output that ends with an error once it is longer than any sensible prompt.
struct Capped(Vec<u8>);

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_OUTPUT {
            return Err(io::Error::other("output is too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn template_error(error: minijinja::Error) -> Error {
    let line = error.line().map_or_else(String::new, |line| format!(", line {line}"));
    let detail = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "it takes too many steps".to_owned(),
        (ErrorKind::InvalidOperation, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    Error::invalid_argument(format!("chat template{line}: {detail}"))
}
