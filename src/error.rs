//! The one error type, with its closed set of codes.
//!
//! A page acts on the code and shows the message. A message names the thing (tensor, option, URL) and both
//! numbers, expected and found; lower case, no full stop.

use std::fmt;

/// What went wrong, in the words a page can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// No WebGPU in this browser, or no adapter.
    WebgpuUnavailable,
    /// The page may not use WebAssembly. JavaScript raises it: no Rust runs then.
    FeatureMissing,
    /// Something is larger than the device's limits.
    LimitExceeded,
    /// An allocation failed, on the GPU or in WebAssembly.
    OutOfMemory,
    /// The GPU device was lost.
    DeviceLost,
    /// The source could not be read: HTTP status, network cut, short read.
    DownloadFailed,
    /// The bytes are not the promised ones.
    IntegrityFailed,
    /// Not a GGUF file, or one that contradicts itself.
    BadFile,
    /// A tensor type that webgguf does not know.
    UnsupportedQuant,
    /// A `general.architecture` or tokenizer model that webgguf does not know.
    UnsupportedArchitecture,
    /// The prompt does not fit the context.
    ContextFull,
    /// An option or argument is wrong.
    InvalidArgument,
    /// A bug of webgguf, of the browser or of the driver.
    Internal,
    /// The caller's `AbortSignal` fired. Becomes a `DOMException` named `AbortError`.
    Aborted,
}

impl ErrorCode {
    /// The code as the page sees it in `error.code`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WebgpuUnavailable => "webgpu_unavailable",
            Self::FeatureMissing => "feature_missing",
            Self::LimitExceeded => "limit_exceeded",
            Self::OutOfMemory => "out_of_memory",
            Self::DeviceLost => "device_lost",
            Self::DownloadFailed => "download_failed",
            Self::IntegrityFailed => "integrity_failed",
            Self::BadFile => "bad_file",
            Self::UnsupportedQuant => "unsupported_quant",
            Self::UnsupportedArchitecture => "unsupported_architecture",
            Self::ContextFull => "context_full",
            Self::InvalidArgument => "invalid_argument",
            Self::Internal => "internal",
            Self::Aborted => "aborted",
        }
    }
}

/// The error of every fallible function of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `code`; `message` is lower case, without a full stop, with both numbers where two disagree.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Shorthand for [`ErrorCode::BadFile`].
    pub fn bad_file(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadFile, message)
    }

    /// Shorthand for [`ErrorCode::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message)
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message, for people.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for Error {}
