//! Errors and values that cross between Rust and JavaScript.

use wasm_bindgen::prelude::*;

use crate::{Error, ErrorCode};

/// Makes an `Error` with the property `code`, from which `js/errors.ts` makes a `WebggufError` or an `AbortError`.
pub fn to_js(error: Error) -> JsValue {
    let made = js_sys::Error::new(error.message());
    let _ = js_sys::Reflect::set(&made, &"code".into(), &error.code().as_str().into());
    made.into()
}

/// Converts what a source throws while it is read: `download_failed`, unless it has one of the codes below.
pub fn from_js(error: &JsValue) -> Error {
    let field = |name: &str| js_sys::Reflect::get(error, &name.into()).ok().and_then(|value| value.as_string());
    let code = match field("code").as_deref() {
        Some("invalid_argument") => ErrorCode::InvalidArgument,
        Some("integrity_failed") => ErrorCode::IntegrityFailed,
        _ => ErrorCode::DownloadFailed,
    };
    Error::new(code, field("message").unwrap_or_else(|| "the source could not be read".into()))
}

/// Converts a value for JavaScript, by serde.
pub fn to_value(value: &impl serde::Serialize) -> Result<JsValue, JsValue> {
    // Absent fields stay `undefined`, u64 counts become plain numbers, and maps plain objects.
    let serializer = serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(false);
    let serializer = serializer.serialize_maps_as_objects(true);
    value.serialize(&serializer).map_err(|error| to_js(Error::invalid_argument(error.to_string())))
}

/// Converts a value from JavaScript, by serde; `what` names it in the message.
pub fn from_value<T: serde::de::DeserializeOwned>(value: JsValue, what: &str) -> Result<T, JsValue> {
    serde_wasm_bindgen::from_value(value).map_err(|error| to_js(Error::invalid_argument(format!("{what}: {error}"))))
}
