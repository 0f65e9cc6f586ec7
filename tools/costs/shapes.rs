//! Headers of models: those of files, and those that published shapes would have (`shapes.json`).

use std::collections::BTreeMap;
use std::io::Read;

use serde::Deserialize;
use serde_json::Value as Json;
use webgguf::gguf::{Array, GgmlType, Gguf, HeaderReader, Metadata, TensorInfo, Value, row_bytes};
use webgguf::model::{ModelConfig, Role, WeightSpec, config, weight_specs};

/// What `shapes.json` says of a model.
#[derive(Deserialize)]
struct Shape {
    /// Tokens.
    vocab: u64,
    /// Whether the head is a matrix of its own.
    #[serde(default)]
    own_head: bool,
    /// Keys of the file, without the name of the architecture.
    metadata: BTreeMap<String, Json>,
}

/// The names of the published shapes.
pub fn names() -> Result<Vec<String>, String> {
    Ok(all()?.into_keys().collect())
}

fn all() -> Result<BTreeMap<String, Shape>, String> {
    serde_json::from_str(include_str!("shapes.json")).map_err(|error| format!("shapes.json: {error}"))
}

/// The header of a model that is not there: a published shape with its matrices in a type as files have them.
pub fn shape(name: &str, ty: GgmlType) -> Result<(ModelConfig, Vec<TensorInfo>), String> {
    let shape = all()?.remove(name).ok_or_else(|| format!("no shape {name}"))?;
    let key = "general.architecture";
    let architecture = shape.metadata.get(key).and_then(Json::as_str).ok_or("a shape without an architecture")?;
    let mut metadata: Metadata = shape
        .metadata
        .iter()
        .map(|(of, value)| if of == key { (of.clone(), value) } else { (format!("{architecture}.{of}"), value) })
        .map(|(of, value)| Ok((of, value_of(value)?)))
        .collect::<Result<_, String>>()?;
    metadata.insert(format!("{architecture}.context_length"), Value::U32(8192));
    metadata.insert(format!("{architecture}.attention.layer_norm_rms_epsilon"), Value::F32(1e-5));
    let tokens = (0..shape.vocab).map(|n| format!("t{n}")).collect();
    metadata.insert("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens)));
    let hidden = shape.metadata.get("embedding_length").and_then(Json::as_u64).ok_or("a shape without a width")?;
    let dims = vec![hidden, shape.vocab];
    let heads = ["token_embd.weight", "output.weight"].into_iter().take(1 + usize::from(shape.own_head));
    let tensors = heads.map(|name| info(name, GgmlType::F32, dims.clone(), 0)).collect();
    let gguf = Gguf { version: 3, metadata, tensors, header_bytes: 0, alignment: 32, digest: 0 };
    let config = config(&gguf).map_err(|error| error.to_string())?;
    let tensors = tensors_of(&config, ty)?;
    Ok((config, tensors))
}

fn value_of(json: &Json) -> Result<Value, String> {
    match json {
        Json::String(text) => Ok(Value::String(text.clone())),
        Json::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(number), _) => u32::try_from(number).map(Value::U32).map_err(|error| error.to_string()),
            (None, Some(number)) => Ok(Value::F32(number as f32)),
            _ => Err(format!("{number} is no number of a header")),
        },
        Json::Array(items) => {
            let items = items.iter().map(|item| item.as_i64().and_then(|item| i32::try_from(item).ok()));
            items
                .collect::<Option<Vec<i32>>>()
                .map(|items| Value::Array(Array::I32(items)))
                .ok_or("not integers".into())
        }
        other => Err(format!("{other} is no value of a header")),
    }
}

fn info(name: &str, ty: GgmlType, dims: Vec<u64>, bytes: u64) -> TensorInfo {
    TensorInfo { name: name.into(), ty, dims, offset: 0, bytes, part: 0 }
}

/// The tensors that a file would have, optional ones left out.
fn tensors_of(config: &ModelConfig, ty: GgmlType) -> Result<Vec<TensorInfo>, String> {
    let mut tensors: Vec<TensorInfo> = Vec::new();
    for spec in weight_specs(config).iter().filter(|spec| !spec.optional) {
        let dims = spec.tensor_dims();
        let ty = type_of(spec, ty, dims[0]);
        let row = row_bytes(ty, dims[0]).map_err(|error| error.to_string())?;
        let bytes = row * dims[1..].iter().product::<u64>();
        // A tensor of several weights comes once.
        if !tensors.iter().any(|tensor| tensor.name == spec.name) {
            tensors.push(info(&spec.name, ty, dims, bytes));
        }
    }
    Ok(tensors)
}

/// Q4_K files have values, down, embedding and head in Q6_K, as those of llama.cpp; rows of no whole blocks are Q8_0.
fn type_of(spec: &WeightSpec, ty: GgmlType, width: u64) -> GgmlType {
    let more = matches!(spec.role, Role::AttnV | Role::FfnDown | Role::Output | Role::TokenEmbedding);
    match ty {
        _ if spec.values => GgmlType::F32,
        _ if !width.is_multiple_of(ty.block_len() as u64) => GgmlType::Q8_0,
        GgmlType::Q4_K if more => GgmlType::Q6_K,
        ty => ty,
    }
}

/// The header of a file.
pub fn file(path: &str) -> Result<(ModelConfig, Vec<TensorInfo>), String> {
    let fail = |error: &dyn std::fmt::Display| format!("{path}: {error}");
    let mut file = std::fs::File::open(path).map_err(|error| fail(&error))?;
    let size = file.metadata().map_err(|error| fail(&error))?.len();
    let mut reader = HeaderReader::new(Some(size));
    let mut bytes = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut bytes).map_err(|error| fail(&error))?;
        if count == 0 {
            return Err(fail(&"ends within its header"));
        }
        if let Some(gguf) = reader.push(&bytes[..count]).map_err(|error| fail(&error))? {
            return Ok((config(&gguf).map_err(|error| fail(&error))?, gguf.tensors));
        }
    }
}
