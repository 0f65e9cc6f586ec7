//! The files of `shaders/shared/`, by stem, for `#import`.

macro_rules! files {
    ($($stem:literal),* $(,)?) => {
        /// (stem, text)
        pub const FILES: &[(&str, &str)] = &[$(($stem, include_str!(concat!("../../shaders/shared/", $stem, ".wgsl")))),*];
    };
}

files!["commit", "reduce", "sample_options", "state", "winner"];
