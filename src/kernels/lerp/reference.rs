//! An activation on its way to another.

/// `x + (to − x) · part`
pub fn lerp(x: f32, to: f32, part: f32) -> f32 {
    x + (to - x) * part
}
