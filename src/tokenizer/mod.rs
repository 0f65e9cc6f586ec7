//! (placeholder while the skeleton is laid)
