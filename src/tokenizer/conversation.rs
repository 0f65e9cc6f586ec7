//! What a chat template is given: messages, tools, and variables of the caller.

use std::collections::BTreeMap;

use minijinja::value::{Kwargs, Value, ValueKind};
use serde::{Deserialize, Serialize};

use super::json::tojson;

/// One message of a conversation that is all text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks: `system`, `user`, `assistant`, or what else the template knows.
    pub role: String,
    /// What they say.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

/// A conversation, as Hugging Face's `apply_chat_template` gets it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Conversation {
    /// Maps with a role, content, and what else the template knows: `tool_calls`, `tool_call_id`, `reasoning_content`.
    pub messages: Vec<Value>,
    /// Tools, each as the OpenAI API has it; `None` where there are none.
    pub tools: Option<Vec<Value>>,
    /// Whether to end where the answer starts.
    pub add_generation_prompt: bool,
    /// Further variables of the template, such as `enable_thinking`.
    pub variables: BTreeMap<String, Value>,
}

impl Default for Conversation {
    fn default() -> Self {
        Self { messages: Vec::new(), tools: None, add_generation_prompt: true, variables: BTreeMap::new() }
    }
}

impl Conversation {
    /// A conversation that is all text.
    pub fn new(messages: &[Message], add_generation_prompt: bool) -> Self {
        let value = |m: &Message| Value::from_pairs([("role", &m.role), ("content", &m.content)]);
        Self { messages: messages.iter().map(value).collect(), add_generation_prompt, ..Self::default() }
    }

    /// Values in messages and tools: what templates walk over.
    pub(super) fn size(&self) -> u64 {
        self.messages.iter().chain(self.tools.iter().flatten()).map(size).sum()
    }

    /// The messages in the forms that templates want, the usual one first: arguments of calls as maps or as their JSON
    /// text, and content that is absent as none or as empty text.
    pub(super) fn forms(&self) -> Vec<Vec<Value>> {
        let mut forms = vec![self.messages.clone()];
        for form in [
            Form { arguments_as_text: false, content_as_text: true },
            Form { arguments_as_text: true, content_as_text: false },
            Form { arguments_as_text: true, content_as_text: true },
        ] {
            let messages: Vec<Value> = self.messages.iter().map(|message| form.message(message)).collect();
            if !forms.contains(&messages) {
                forms.push(messages);
            }
        }
        forms
    }
}

#[derive(Clone, Copy)]
struct Form {
    arguments_as_text: bool,
    content_as_text: bool,
}

impl Form {
    fn message(self, message: &Value) -> Value {
        mapped(message, |key, value| match (key, value.kind()) {
            ("content", ValueKind::None) if self.content_as_text => Value::from(""),
            ("tool_calls", ValueKind::Seq) if self.arguments_as_text => {
                value.try_iter().map_or_else(|_| value.clone(), |calls| calls.map(|call| with_text(&call)).collect())
            }
            _ => value.clone(),
        })
    }
}

/// A call whose arguments are JSON text.
fn with_text(call: &Value) -> Value {
    mapped(call, |key, value| match (key, value.kind()) {
        ("function", ValueKind::Map) => with_text(value),
        ("arguments", ValueKind::Map) => {
            tojson(value, Kwargs::from_iter::<[(String, Value); 0]>([])).map_or_else(|_| value.clone(), Value::from)
        }
        _ => value.clone(),
    })
}

/// A map with each value replaced; anything else as it is.
fn mapped(value: &Value, replace: impl Fn(&str, &Value) -> Value) -> Value {
    let entry = |key: Value| {
        let item = value.get_item(&key).unwrap_or_default();
        let replaced = replace(key.as_str().unwrap_or_default(), &item);
        (key, replaced)
    };
    match value.try_iter() {
        Ok(keys) if value.kind() == ValueKind::Map => Value::from_pairs(keys.map(entry)),
        _ => value.clone(),
    }
}

fn size(value: &Value) -> u64 {
    let inner = match (value.kind(), value.try_iter()) {
        (ValueKind::Map, Ok(keys)) => keys.map(|key| size(&value.get_item(&key).unwrap_or_default())).sum(),
        (ValueKind::Seq, Ok(items)) => items.map(|item| size(&item)).sum(),
        _ => 0,
    };
    1 + inner
}
