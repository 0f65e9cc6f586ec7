//! A view of a dispatch, from which the cost functions read numbers by their names in the shader.

use std::cell::{OnceCell, RefCell};

use crate::formats::GgmlType;
use crate::forward::Plan;
use crate::kernels::spec::Dispatch;

/// The pass that a dispatch runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scene {
    /// Rows of the pass.
    pub rows: u64,
    /// Position of the first row, which is the number of tokens in the caches before the pass.
    pub position: u64,
    /// Threads of a subgroup.
    pub subgroup: u64,
}

impl Scene {
    /// A pass of `rows` rows of one sequence, from `position` on.
    pub fn new(rows: u64, position: u64) -> Self {
        Self { rows, position, subgroup: 32 }
    }
}

/// A dispatch, its buffers and its pass.
pub(super) struct View<'a> {
    dispatch: &'a Dispatch,
    plan: &'a Plan,
    pub scene: Scene,
    text: OnceCell<String>,
    missing: RefCell<Option<String>>,
}

impl<'a> View<'a> {
    pub fn new(dispatch: &'a Dispatch, plan: &'a Plan, scene: Scene) -> Self {
        Self { dispatch, plan, scene, text: OnceCell::new(), missing: RefCell::new(None) }
    }

    /// The first name that was asked for and does not exist.
    pub fn missing(&self) -> Option<String> {
        self.missing.borrow().clone()
    }

    fn miss(&self, what: &str, name: &str) -> u64 {
        self.missing.borrow_mut().get_or_insert_with(|| format!("{what} {name}"));
        0
    }

    /// An `override` constant as an integer: the host's value, or else the shader's default.
    pub fn constant(&self, name: &str) -> u64 {
        self.find(name, 0).unwrap_or_else(|| self.miss("constant", name))
    }

    /// Whether a constant is not 0.
    pub fn is_set(&self, name: &str) -> bool {
        self.constant(name) != 0
    }

    fn find(&self, name: &str, depth: usize) -> Option<u64> {
        let set = self.dispatch.kernel.constants.iter().find(|(of, _)| *of == name);
        set.map(|(_, value)| *value as u64).or_else(|| self.declared(name, depth))
    }

    /// The value of a constant from its declaration, a product of numbers and constants.
    fn declared(&self, name: &str, depth: usize) -> Option<u64> {
        let text = self.text.get_or_init(|| self.dispatch.kernel.wgsl());
        let declares = |line: &&str| {
            let rest = line.strip_prefix("override ").or_else(|| line.strip_prefix("const "));
            let after = rest.and_then(|rest| rest.strip_prefix(name));
            after.is_some_and(|after| after.starts_with([':', ' ']))
        };
        let value = text.lines().find(declares)?.split_once('=')?.1.split(';').next()?;
        value.split('*').map(|factor| self.factor(factor.trim(), depth)).product()
    }

    fn factor(&self, text: &str, depth: usize) -> Option<u64> {
        match text {
            "false" => Some(0),
            "true" => Some(1),
            _ => match text.trim_end_matches('u').parse::<f64>() {
                Ok(number) => Some(number as u64),
                Err(_) => (depth < 4).then(|| self.find(text, depth + 1))?,
            },
        }
    }

    /// A field of the dispatch's `Params`.
    pub fn param(&self, name: &str) -> u64 {
        let fields = self.dispatch.kernel.spec.params.fields;
        let at = fields.iter().find(|(field, _)| *field == name).map(|(_, at)| *at);
        let word = at.and_then(|at| self.dispatch.params.get(at..at + 4)).and_then(|bytes| bytes.try_into().ok());
        word.map_or_else(|| self.miss("parameter", name), |bytes| u32::from_le_bytes(bytes).into())
    }

    /// Bytes of the binding with this name.
    pub fn bytes(&self, name: &str) -> u64 {
        let bindings = self.dispatch.kernel.spec.bindings;
        let slice = bindings.iter().skip(1).position(|of| of.name == name).and_then(|at| self.dispatch.buffers.get(at));
        let Some(slice) = slice else { return self.miss("buffer", name) };
        let buffer = self.plan.buffers.iter().find(|buffer| buffer.id == slice.buffer);
        let whole = buffer.map(|buffer| buffer.bytes.saturating_sub(slice.offset));
        slice.size.or(whole).unwrap_or_else(|| self.miss("size of", name))
    }

    /// The tensor type of the weights.
    pub fn ty(&self) -> Option<GgmlType> {
        let parts = || self.dispatch.kernel.id.split('.').skip(1);
        GgmlType::ALL.into_iter().find(|ty| parts().any(|part| part == ty.key()))
    }

    /// Whether the variant's id has this part.
    pub fn is_named(&self, part: &str) -> bool {
        self.dispatch.kernel.id.split('.').skip(1).any(|of| of == part)
    }

    /// Workgroups along an axis.
    pub fn grid(&self, axis: usize) -> u64 {
        self.dispatch.grid[axis].resolve(self.scene.rows as u32).into()
    }

    /// Workgroups.
    pub fn workgroups(&self) -> u64 {
        (0..3).map(|axis| self.grid(axis)).product()
    }

    /// Threads of a workgroup.
    pub fn threads(&self) -> u64 {
        let text = self.text.get_or_init(|| self.dispatch.kernel.wgsl());
        let sizes = text.split_once("@workgroup_size(").and_then(|(_, rest)| rest.split_once(')'));
        let sizes = sizes.map_or("", |(sizes, _)| sizes).split(',').map(str::trim).filter(|size| !size.is_empty());
        let product: Option<u64> = sizes.map(|size| self.factor(size, 0)).product();
        product.unwrap_or_else(|| self.miss("constant", "@workgroup_size"))
    }

    /// Rows of the pass.
    pub fn rows(&self) -> u64 {
        self.scene.rows
    }

    /// Counts (pairs of a row and a position that it sees, positions that any row sees). A `window` of 0 means none.
    pub fn seen(&self, window: u64) -> (u64, u64) {
        let Scene { rows, position, .. } = self.scene;
        let most = if window == 0 { u64::MAX } else { window };
        let pairs = (position + 1..=position + rows).map(|keys| keys.min(most)).sum();
        (pairs, (position + rows).min(most.saturating_add(rows - 1)))
    }
}
