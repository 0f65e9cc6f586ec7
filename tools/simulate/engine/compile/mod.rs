//! naga's modules as programs.

mod blocks;
mod expressions;
mod maths;

use std::collections::HashMap;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{AddressSpace, Binding, Expression, Function, Handle, Literal, Module, Span, Type, TypeInner};

use super::code::{Arg, Op, Place, Program, Reg, Site, Space};
use super::layout::{Unsupported, component, members, shape};

/// A number whose magnitude is at least this stands for an infinity.
const EXTREME: f32 = 1e37;

/// What a call needs.
#[derive(Clone)]
struct Callee {
    entry: u32,
    arguments: Vec<(Reg, u32)>,
    result: Option<(Reg, u32)>,
    back: Reg,
}

struct Compiler<'m> {
    module: &'m Module,

    wgsl: &'m str,
    ops: Vec<Op>,
    lines: Vec<u32>,
    line: u32,
    registers: Vec<u32>,
    constants: HashMap<Vec<u32>, Reg>,
    extremes: Vec<Reg>,
    globals: HashMap<Handle<naga::GlobalVariable>, Place>,
    functions: HashMap<Handle<Function>, Callee>,
    barriers: Vec<(Site, u32)>,
    seed: u64,
}

/// A function while it is compiled.
struct Frame<'m> {
    function: &'m Function,
    info: &'m FunctionInfo,
    name: String,
    values: Vec<Option<Reg>>,
    places: Vec<Option<Place>>,
    locals: HashMap<Handle<naga::LocalVariable>, Reg>,
    callee: Option<Callee>,
    barriers: u32,
    /// What `break` leaves, innermost last: jumps to be set, and in a loop the jumps of `continue`.
    exits: Vec<(Vec<usize>, Option<Vec<usize>>)>,
}

/// Compiles a module without overrides. The seed says which products are fused with the sums that they go into.
pub fn compile(module: &Module, info: &ModuleInfo, wgsl: &str, seed: u64) -> Result<Program, Unsupported> {
    let mut compiler = Compiler {
        module,
        wgsl,
        ops: Vec::new(),
        lines: Vec::new(),
        line: 0,
        registers: Vec::new(),
        constants: HashMap::new(),
        extremes: Vec::new(),
        globals: HashMap::new(),
        functions: HashMap::new(),
        barriers: Vec::new(),
        seed,
    };
    let (workgroup_words, workgroup_names) = compiler.place_globals()?;
    for (handle, function) in module.functions.iter() {
        let callee = compiler.function(function, &info[handle])?;
        compiler.functions.insert(handle, callee);
    }
    let point = module.entry_points.first().ok_or("no entry point")?;
    let (entry, builtins) = compiler.entry(&point.function, info.get_entry_point(0))?;
    let named = |(_, variable): (_, &naga::GlobalVariable)| {
        variable.binding.map(|binding| (binding.binding, variable.name.clone().unwrap_or_default()))
    };
    let mut names: Vec<(u32, String)> = module.global_variables.iter().filter_map(named).collect();
    names.sort();
    Ok(Program {
        ops: compiler.ops,
        lines: compiler.lines,
        entry,
        registers: compiler.registers,
        builtins,
        workgroup_size: point.workgroup_size,
        workgroup_words,
        workgroup_names,
        buffer_names: names,
        barriers: compiler.barriers,
        extremes: compiler.extremes,
        wgsl: wgsl.to_owned(),
    })
}

impl<'m> Compiler<'m> {
    fn emit(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.lines.push(self.line);
        self.ops.len() - 1
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    fn look_at(&mut self, span: Span) {
        if let Some(range) = span.to_range() {
            self.line = 1 + self.wgsl.as_bytes()[..range.start].iter().filter(|&&byte| byte == b'\n').count() as u32;
        }
    }

    fn reserve(&mut self, words: u32) -> Reg {
        let first = self.registers.len() as u32;
        self.registers.resize(self.registers.len() + words as usize, 0);
        first
    }

    fn constant(&mut self, words: Vec<u32>) -> Reg {
        if let Some(&reg) = self.constants.get(&words) {
            return reg;
        }
        let first = self.registers.len() as u32;
        self.registers.extend(&words);
        self.constants.insert(words, first);
        first
    }

    fn words(&self, ty: Handle<Type>) -> Result<u32, Unsupported> {
        Ok(shape(self.module, &self.module.types[ty].inner)?.words)
    }

    fn place_globals(&mut self) -> Result<(u32, Vec<(u32, String)>), Unsupported> {
        let (mut words, mut names) = (0u32, Vec::new());
        for (handle, variable) in self.module.global_variables.iter() {
            let shape = shape(self.module, &self.module.types[variable.ty].inner)?;
            let (space, at) = match (variable.space, variable.binding) {
                (AddressSpace::WorkGroup, _) => {
                    let at = words.next_multiple_of(4);
                    words = at + shape.words;
                    names.push((at, variable.name.clone().unwrap_or_default()));
                    (Space::Workgroup, at)
                }
                (AddressSpace::Private, _) => {
                    let at = self.reserve(shape.words);
                    if let Some(init) = variable.init {
                        let values = self.evaluate(&self.module.global_expressions, init)?;
                        self.registers[at as usize..][..values.len()].copy_from_slice(&values);
                    }
                    (Space::Registers, at)
                }
                (_, Some(binding)) => (Space::Buffer(binding.binding), 0),
                (space, None) => return Err(format!("a variable of {space:?}")),
            };
            self.globals.insert(handle, Place { space, reg: None, at });
        }
        Ok((words, names))
    }

    /// The value of a constant expression.
    fn evaluate(
        &mut self,
        arena: &naga::Arena<Expression>,
        handle: Handle<Expression>,
    ) -> Result<Vec<u32>, Unsupported> {
        match &arena[handle] {
            Expression::Literal(literal) => Ok(vec![self.literal(*literal)?]),
            Expression::Constant(of) => {
                let module = self.module;
                self.evaluate(&module.global_expressions, module.constants[*of].init)
            }
            Expression::ZeroValue(ty) => Ok(vec![0; self.words(*ty)? as usize]),
            Expression::Splat { size, value } => Ok(self.evaluate(arena, *value)?.repeat(*size as usize)),
            Expression::Compose { ty, components } => {
                let inner = &self.module.types[*ty].inner;
                let mut values = vec![0; self.words(*ty)? as usize];
                let mut next = 0;
                for (i, &part) in components.iter().enumerate() {
                    let part = self.evaluate(arena, part)?;
                    let at = match inner {
                        TypeInner::Vector { .. } => next,
                        _ => component(self.module, inner, i as u32)? as usize,
                    };
                    values[at..at + part.len()].copy_from_slice(&part);
                    next = at + part.len();
                }
                Ok(values)
            }
            other => Err(format!("the constant {other:?}")),
        }
    }

    fn literal(&mut self, literal: Literal) -> Result<u32, Unsupported> {
        Ok(match literal {
            Literal::F32(value) => {
                if value.abs() >= EXTREME {
                    let reg = self.constant(vec![value.to_bits()]);
                    if !self.extremes.contains(&reg) {
                        self.extremes.push(reg);
                    }
                }
                value.to_bits()
            }
            Literal::U32(value) => value,
            Literal::I32(value) => value as u32,
            Literal::Bool(value) => value.into(),
            other => return Err(format!("the number {other:?}")),
        })
    }

    fn frame(&mut self, function: &'m Function, info: &'m FunctionInfo) -> Result<Frame<'m>, Unsupported> {
        let count = function.expressions.len();
        let mut locals = HashMap::new();
        for (handle, variable) in function.local_variables.iter() {
            let words = self.words(variable.ty)?;
            locals.insert(handle, self.reserve(words));
        }
        Ok(Frame {
            function,
            info,
            name: function.name.clone().unwrap_or_default(),
            values: vec![None; count],
            places: vec![None; count],
            locals,
            callee: None,
            barriers: 0,
            exits: Vec::new(),
        })
    }

    /// Variables have their first values whenever the function is called.
    fn begin(&mut self, frame: &Frame<'m>) -> Result<(), Unsupported> {
        for (handle, variable) in frame.function.local_variables.iter() {
            let words = self.words(variable.ty)?;
            let first = match variable.init {
                Some(init) => self.evaluate(&frame.function.expressions, init)?,
                None => vec![0; words as usize],
            };
            let from = self.constant(first);
            self.copy(frame.locals[&handle], from, words);
        }
        Ok(())
    }

    fn copy(&mut self, d: Reg, from: Reg, n: u32) {
        let arg = Arg { reg: from, step: 1 };
        self.emit(Op::Alu { f: super::code::Alu::Copy, n, d, args: [arg; 3] });
    }

    fn function(&mut self, function: &'m Function, info: &'m FunctionInfo) -> Result<Callee, Unsupported> {
        let mut frame = self.frame(function, info)?;
        let mut arguments = Vec::new();
        for argument in &function.arguments {
            let words = self.words(argument.ty)?;
            arguments.push((self.reserve(words), words));
        }
        let result = match &function.result {
            Some(result) => {
                let words = self.words(result.ty)?;
                Some((self.reserve(words), words))
            }
            None => None,
        };
        let callee = Callee { entry: self.here(), arguments, result, back: self.reserve(1) };
        frame.callee = Some(callee.clone());
        self.begin(&frame)?;
        self.block(&mut frame, &function.body)?;
        self.emit(Op::Return { back: callee.back });
        Ok(callee)
    }

    #[allow(clippy::type_complexity)]
    fn entry(
        &mut self,
        function: &'m Function,
        info: &'m FunctionInfo,
    ) -> Result<(u32, Vec<(naga::BuiltIn, Reg)>), Unsupported> {
        let mut frame = self.frame(function, info)?;
        let (mut builtins, mut arguments) = (Vec::new(), Vec::new());
        for argument in &function.arguments {
            let words = self.words(argument.ty)?;
            let reg = self.reserve(words);
            arguments.push((reg, words));
            let inner = &self.module.types[argument.ty].inner;
            let bound = match (inner, &argument.binding) {
                (_, Some(binding)) => vec![(Some(binding), reg)],
                (TypeInner::Struct { members: of, .. }, None) => {
                    let offsets = members(self.module, inner)?.0;
                    of.iter().zip(offsets).map(|(member, at)| (member.binding.as_ref(), reg + at)).collect()
                }
                _ => Vec::new(),
            };
            for (binding, reg) in bound {
                match binding {
                    Some(Binding::BuiltIn(builtin)) => builtins.push((*builtin, reg)),
                    other => return Err(format!("an argument with {other:?}")),
                }
            }
        }
        let entry = self.here();
        frame.callee = Some(Callee { entry, arguments, result: None, back: 0 });
        frame.name = "main".into();
        self.begin(&frame)?;
        self.block(&mut frame, &function.body)?;
        self.emit(Op::Halt);
        Ok((entry, builtins))
    }
}
