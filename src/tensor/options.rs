//! Options of operations as JavaScript gives them, read field by field: one reader for all operations, since code that
//! serde makes for each of them is ten times as large.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as NameError, StrDeserializer};

use super::attention::AttentionOptions;
use super::elementwise::{Arg, CastOptions, FuseOptions, Op, OpOptions, ScaleOptions, Step};
use super::fused::{GateUpOptions, GatedOptions, ProjectOptions};
use super::gather::AxisOptions;
use super::kv_cache::{AttentionDecodeOptions, KvWriteOptions};
use super::matmul::MatmulOptions;
use super::movement::{ConcatOptions, ExpandOptions, NarrowOptions, TransposeOptions};
use super::norm::{NormOptions, SinkhornOptions, SoftmaxOptions};
use super::quantised::QuantisedOptions;
use super::reduce::{ArgmaxOptions, ReduceOp, ReduceOptions, TopKOptions};
use super::reshape::ReshapeOptions;
use super::rope::{Layout, Pairing, RopeOptions, RopeTableOptions, YarnOptions};
use super::scan::CumsumOptions;
use crate::kernels::mat_mul_dense::{Activation, Precision};
use crate::kernels::swiglu::Gate;

/// A value that JavaScript or JSON has.
#[derive(Debug)]
pub enum Value {
    /// `undefined` or `null`.
    Nothing,
    /// A boolean.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object.
    Object(Fields),
}

/// Names and values of an object, without those of `undefined` or `null`.
#[derive(Debug, Default)]
pub struct Fields {
    given: Vec<(String, Value)>,
    /// The error of the first invalid field.
    error: Option<String>,
}

impl Value {
    /// An object of these names and values, of which those that are nothing count as missing.
    pub fn object(fields: impl IntoIterator<Item = (String, Self)>) -> Self {
        let given = fields.into_iter().filter(|(_, value)| !matches!(value, Self::Nothing)).collect();
        Self::Object(Fields { given, error: None })
    }

    /// The options that it is; no value is an object without fields.
    pub(super) fn read<T: FromFields>(self) -> Result<T, String> {
        let mut fields = self.fields()?;
        let options = T::from_fields(&mut fields);
        fields.check(T::NAMES)?;
        Ok(options.expect("where a field is missing or wrong, check has said so"))
    }

    fn fields(self) -> Result<Fields, String> {
        match self {
            Self::Nothing => Ok(Fields::default()),
            Self::Object(fields) => Ok(fields),
            other => unlike(&other, "an object"),
        }
    }
}

impl Fields {
    /// Each field has been read, and none was wrong.
    fn check(self, names: &[&str]) -> Result<(), String> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Some((name, _)) = self.given.first() else { return Ok(()) };
        let mut names = names.iter().map(|name| format!("`{}`", camel_case(name))).collect::<Vec<_>>().join(", ");
        if names.is_empty() {
            names = "no fields".into();
        }
        Err(format!("unknown field `{name}`, expected {names}"))
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let name = camel_case(name);
        let at = self.given.iter().position(|(found, _)| *found == name)?;
        Some(self.given.swap_remove(at).1)
    }

    fn fail(&mut self, error: String) {
        self.error.get_or_insert(error);
    }

    /// A field, if it is given.
    fn maybe<T: FromValue>(&mut self, name: &str) -> Option<T> {
        match T::from_value(self.take(name)?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(format!("`{}`: {error}", camel_case(name)));
                None
            }
        }
    }

    /// A field that must be given.
    fn need<T: FromValue>(&mut self, name: &str) -> Option<T> {
        let value = self.maybe(name);
        if value.is_none() {
            self.fail(format!("missing field `{}`", camel_case(name)));
        }
        value
    }
}

/// `keep_dims` → `keepDims`.
fn camel_case(name: &str) -> String {
    let mut starts_word = false;
    let mut all = String::new();
    for letter in name.chars() {
        if letter != '_' {
            all.push(if starts_word { letter.to_ascii_uppercase() } else { letter });
        }
        starts_word = letter == '_';
    }
    all
}

/// A type that is read from the fields of an object.
pub(super) trait FromFields: Sized {
    /// Names of its fields in Rust.
    const NAMES: &'static [&'static str];

    /// Takes its fields; nothing where one that is needed is missing or wrong.
    fn from_fields(fields: &mut Fields) -> Option<Self>;
}

/// A type that is read from a value.
trait FromValue: Sized {
    fn from_value(value: Value) -> Result<Self, String>;
}

/// The kind of a value, for messages.
fn described(value: &Value) -> String {
    match value {
        Value::Nothing => "nothing".into(),
        Value::Flag(flag) => format!("{flag}"),
        Value::Number(number) => format!("{number}"),
        Value::Text(text) => format!("string \"{text}\""),
        Value::List(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

fn unlike<T>(value: &Value, wanted: &str) -> Result<T, String> {
    Err(format!("invalid type: {}, expected {wanted}", described(value)))
}

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self, String> {
        if let Value::Flag(flag) = value { Ok(flag) } else { unlike(&value, "a boolean") }
    }
}

impl FromValue for f64 {
    fn from_value(value: Value) -> Result<Self, String> {
        if let Value::Number(number) = value { Ok(number) } else { unlike(&value, "a number") }
    }
}

impl FromValue for f32 {
    fn from_value(value: Value) -> Result<Self, String> {
        f64::from_value(value).map(|number| number as Self)
    }
}

/// A whole number within bounds.
fn whole(value: &Value, [least, most]: [f64; 2]) -> Result<f64, String> {
    match value {
        Value::Number(number) if number.fract() == 0.0 && (least..=most).contains(number) => Ok(*number),
        _ => unlike(value, &format!("a whole number from {least} to {most}")),
    }
}

impl FromValue for u32 {
    fn from_value(value: Value) -> Result<Self, String> {
        whole(&value, [0.0, Self::MAX.into()]).map(|number| number as Self)
    }
}

impl FromValue for i32 {
    fn from_value(value: Value) -> Result<Self, String> {
        whole(&value, [Self::MIN.into(), Self::MAX.into()]).map(|number| number as Self)
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self, String> {
        if let Value::Text(text) = value { Ok(text) } else { unlike(&value, "a string") }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Result<Self, String> {
        let Value::List(values) = value else { return unlike(&value, "an array") };
        values.into_iter().map(T::from_value).collect()
    }
}

impl FromValue for Arg {
    fn from_value(value: Value) -> Result<Self, String> {
        let name = match value {
            Value::Number(number) => return Ok(Self::Number(number as f32)),
            Value::Text(name) => name,
            _ => return unlike(&value, "a number or the name of an argument"),
        };
        let index = |prefix: &str| name.strip_prefix(prefix).and_then(|index| index.parse().ok());
        let input = index("in").map(Self::Input);
        input
            .or_else(|| index("s").map(Self::Step))
            .ok_or_else(|| format!("argument '{name}' is neither a number nor like 'in0' or 's0'"))
    }
}

fn named<'a, T: Deserialize<'a>>(name: &'a str) -> Result<T, String> {
    let name: StrDeserializer<'a, NameError> = name.into_deserializer();
    T::deserialize(name).map_err(|error| error.to_string())
}

/// Values that have a name.
macro_rules! by_name {
    ($($kind:ty),*) => {$(
        impl FromValue for $kind {
            fn from_value(value: Value) -> Result<Self, String> {
                named(&String::from_value(value)?)
            }
        }
    )*};
}

by_name!(Activation, Gate, Layout, Op, Pairing, Precision, ReduceOp);

/// Structs with fields that must be given, and fields that have a default.
macro_rules! by_fields {
    ($($kind:ident { $($needed:ident),* } { $($other:ident),* })*) => {$(
        impl FromFields for $kind {
            const NAMES: &'static [&'static str] = &[$(stringify!($needed),)* $(stringify!($other)),*];

            fn from_fields(_fields: &mut Fields) -> Option<Self> {
                Some(Self {
                    $($needed: _fields.need(stringify!($needed))?,)*
                    $($other: Given::given(_fields, stringify!($other)),)*
                })
            }
        }
    )*};
}

/// A field that may be missing: an option, or a value that has a default.
trait Given: Sized {
    fn given(fields: &mut Fields, name: &str) -> Self;
}

impl<T: FromValue> Given for Option<T> {
    fn given(fields: &mut Fields, name: &str) -> Self {
        fields.maybe(name)
    }
}

macro_rules! given_or_default {
    ($($kind:ty),*) => {$(
        impl Given for $kind {
            fn given(fields: &mut Fields, name: &str) -> Self {
                fields.maybe(name).unwrap_or_default()
            }
        }
    )*};
}

given_or_default!(bool, f32, i32, u32, Activation, Gate, Layout, Pairing, Precision);

impl<T: FromFields> FromValue for T {
    fn from_value(value: Value) -> Result<Self, String> {
        value.read()
    }
}

by_fields! {
    NoOptions {} {}
    ArgmaxOptions {} { axis, keep_dims }
    AttentionDecodeOptions {} { length, window, scale, soft_cap }
    AttentionOptions {} { layout, causal, window, scale, soft_cap }
    AxisOptions {} { axis }
    CastOptions { dtype } {}
    ConcatOptions { axis } {}
    CumsumOptions {} { axis, exclusive }
    ExpandOptions { shape } {}
    FuseOptions { steps } { dtype, in_place }
    GateUpOptions {} { activation, eps }
    GatedOptions {} { activation }
    KvWriteOptions {} { layout, position }
    MatmulOptions {} { transpose_a, transpose_b, activation, precision }
    NarrowOptions { axis, start, length } {}
    NormOptions {} { eps, weight_offset, sum }
    OpOptions { op } { in_place }
    ProjectOptions {} { eps }
    QuantisedOptions { dtype, shape } {}
    ReduceOptions { op } { axis, keep_dims }
    ReshapeOptions { shape } {}
    RopeOptions {} { layout, pairing, dims, position, base, scale, factors, yarn }
    RopeTableOptions {} { positions, dims, position, base, scale, factors, yarn }
    ScaleOptions { by } { in_place }
    SinkhornOptions {} { iterations, tolerance }
    SoftmaxOptions {} { scale, causal, soft_cap }
    Step { op, args } {}
    TopKOptions { k } {}
    TransposeOptions {} { axes }
    YarnOptions { factor, original_context } { beta_fast, beta_slow, attention_factor }
}

/// Options of an operation that has none.
pub(super) struct NoOptions {}

#[cfg(test)]
mod tests {
    use super::*;

    impl From<serde_json::Value> for Value {
        fn from(value: serde_json::Value) -> Self {
            match value {
                serde_json::Value::Null => Self::Nothing,
                serde_json::Value::Bool(flag) => Self::Flag(flag),
                serde_json::Value::Number(number) => Self::Number(number.as_f64().expect("a number")),
                serde_json::Value::String(text) => Self::Text(text),
                serde_json::Value::Array(values) => Self::List(values.into_iter().map(Self::from).collect()),
                serde_json::Value::Object(fields) => {
                    Self::object(fields.into_iter().map(|(name, value)| (name, value.into())))
                }
            }
        }
    }

    fn read<T: FromFields>(json: serde_json::Value) -> Result<T, String> {
        Value::from(json).read()
    }

    fn refused<T: FromFields>(json: serde_json::Value) -> String {
        read::<T>(json).err().expect("options that do not fit")
    }

    #[test]
    fn fields_have_the_names_of_javascript() {
        let options: RopeTableOptions = read(serde_json::json!({
            "positions": 4, "base": 500, "factors": [1, 2.5], "scale": null,
            "yarn": {"factor": 4, "originalContext": 2048, "betaFast": 16},
        }))
        .expect("good options");
        assert_eq!((options.positions, options.dims, options.base, options.scale), (4, 0, Some(500.0), None));
        assert_eq!(options.factors.as_deref(), Some(&[1.0, 2.5][..]));
        let yarn = options.yarn.expect("YaRN");
        assert_eq!((yarn.original_context, yarn.beta_fast, yarn.beta_slow), (2048.0, Some(16.0), None));
        let options: RopeOptions = Value::Nothing.read().expect("no options at all");
        assert_eq!((options.layout, options.pairing), (Layout::Bhsd, Pairing::SplitHalf));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        let of_softmax = |text: &str| refused::<SoftmaxOptions>(json(text));
        assert_eq!(of_softmax(r#"{"cap": 1}"#), "unknown field `cap`, expected `scale`, `causal`, `softCap`");
        assert_eq!(of_softmax(r#"{"soft_cap": 1}"#), "unknown field `soft_cap`, expected `scale`, `causal`, `softCap`");
        assert_eq!(of_softmax(r#"{"causal": 1}"#), "`causal`: invalid type: 1, expected a boolean");
        assert_eq!(of_softmax("[1]"), "invalid type: an array, expected an object");
        assert_eq!(refused::<NoOptions>(json(r#"{"x": 1}"#)), "unknown field `x`, expected no fields");
        assert_eq!(refused::<TopKOptions>(json("{}")), "missing field `k`");
        let whole = "expected a whole number from 0 to 4294967295";
        assert_eq!(refused::<TopKOptions>(json(r#"{"k": 1.5}"#)), format!("`k`: invalid type: 1.5, {whole}"));
        assert_eq!(refused::<TopKOptions>(json(r#"{"k": -1}"#)), format!("`k`: invalid type: -1, {whole}"));
        let unknown = refused::<ReduceOptions>(json(r#"{"op": "median"}"#));
        assert!(unknown.starts_with("`op`: unknown variant `median`, expected one of `sum`"), "{unknown}");
        let step = refused::<FuseOptions>(json(r#"{"steps": [{"op": "add", "args": ["in0", "t"]}]}"#));
        assert_eq!(step, "`steps`: `args`: argument 't' is neither a number nor like 'in0' or 's0'");
    }
}
