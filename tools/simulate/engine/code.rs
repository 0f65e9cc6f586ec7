//! Programs of the interpreter: a flat list of instructions over registers of 32 bits. WGSL has no recursion, so every
//! expression, variable and argument has registers of its own, and an invocation that waits is a program counter.

use naga::{AtomicFunction, BinaryOperator, BuiltIn, MathFunction, SubgroupOperation, UnaryOperator};

/// The number of a register, or of a word of memory.
pub type Reg = u32;

/// How the bits of an operand are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
}

/// Where a pointer points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Variables of functions and of the module: registers.
    Registers,
    Workgroup,
    /// A binding.
    Buffer(u32),
}

/// An address: words from the start of its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub space: Space,
    /// A register whose value is added.
    pub reg: Option<Reg>,
    pub at: u32,
}

/// An operand: its first register, and whether each component has its own.
#[derive(Debug, Clone, Copy)]
pub struct Arg {
    pub reg: Reg,
    pub step: u32,
}

/// Which lane's value a lane takes.
#[derive(Debug, Clone, Copy)]
pub enum Take {
    First,
    Lane(Reg),
    Xor(Reg),
    Down(Reg),
    Up(Reg),
}

/// What the invocations of a subgroup do together.
#[derive(Debug, Clone, Copy)]
pub enum Together {
    Reduce(SubgroupOperation, Kind),
    Inclusive(SubgroupOperation, Kind),
    Exclusive(SubgroupOperation, Kind),
    Take(Take),
    Ballot,
}

/// An operation on components: `d[i] = f(a[i], …)` for i in 0..n.
#[derive(Debug, Clone, Copy)]
pub enum Alu {
    Copy,
    Unary(UnaryOperator, Kind),
    Binary(BinaryOperator, Kind),
    /// a · b + c with one rounding.
    Fused,
    /// a · b - c with one rounding.
    FusedLess,
    /// c - a · b with one rounding.
    FusedFrom,
    /// a, or b where c.
    Select,
    Math(MathFunction, Kind),
    /// From the kind to the kind.
    Convert(Kind, Kind),
}

/// An operation that is not by components.
#[derive(Debug, Clone, Copy)]
pub enum Whole {
    /// The sum of products of `a` and `b`.
    Dot(Kind),
    /// The root of the sum of squares of `a`.
    Length,
    /// `a` by its length.
    Normalize,
    /// The length of `a - b`.
    Distance,
    All,
    Any,
    Pack(MathFunction),
    Unpack(MathFunction),
    /// The component of `a` by the number in `b`.
    Component,
    /// `a` with bits of `b`, from the place in the first register on, as many as the second says.
    Insert(Reg, Reg),
}

#[derive(Debug, Clone, Copy)]
pub enum Op {
    Alu {
        f: Alu,
        n: u32,
        d: Reg,
        args: [Arg; 3],
    },
    Whole {
        f: Whole,
        n: u32,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Swizzle {
        d: Reg,
        a: Reg,
        n: u32,
        pattern: [u8; 4],
    },
    /// `d = base + index · stride`, where `index` is below `count`, or in the binding.
    Index {
        d: Reg,
        base: Place,
        index: Reg,
        signed: bool,
        stride: u32,
        count: Option<u32>,
    },
    Load {
        d: Reg,
        from: Place,
        n: u32,
    },
    Store {
        to: Place,
        a: Reg,
        n: u32,
    },
    Atomic {
        f: AtomicFunction,
        at: Place,
        a: Reg,
        compare: Option<Reg>,
        d: Option<Reg>,
        signed: bool,
    },
    AtomicLoad {
        d: Reg,
        at: Place,
    },
    AtomicStore {
        at: Place,
        a: Reg,
    },
    ArrayLength {
        d: Reg,
        buffer: u32,
        before: u32,
        stride: u32,
    },
    Jump {
        to: u32,
    },
    JumpUnless {
        a: Reg,
        to: u32,
    },
    JumpIf {
        a: Reg,
        to: u32,
    },
    JumpIfIs {
        a: Reg,
        value: u32,
        to: u32,
    },
    Call {
        to: u32,
        back: Reg,
    },
    Return {
        back: Reg,
    },
    Halt,
    Barrier {
        workgroup: bool,
        storage: bool,
    },
    Subgroup {
        f: Together,
        d: Reg,
        a: Reg,
        n: u32,
    },
}

/// A barrier or a constant that a mutant changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The function's name.
    pub function: String,
    /// The number among the barriers of the function.
    pub number: u32,
}

/// A compiled shader.
#[derive(Debug, Clone)]
pub struct Program {
    pub ops: Vec<Op>,
    /// Lines of the WGSL, from 1, beside the instructions.
    pub lines: Vec<u32>,
    /// The first instruction.
    pub entry: u32,
    /// Registers as they are at first.
    pub registers: Vec<u32>,
    /// Registers of the entry point's arguments.
    pub builtins: Vec<(BuiltIn, Reg)>,
    pub workgroup_size: [u32; 3],
    pub workgroup_words: u32,
    /// Names of variables in workgroup memory and their first words.
    pub workgroup_names: Vec<(u32, String)>,
    /// Bindings and their names.
    pub buffer_names: Vec<(u32, String)>,
    /// The instruction of every barrier.
    pub barriers: Vec<(Site, u32)>,
    /// Registers with numbers that stand for infinities.
    pub extremes: Vec<Reg>,
    /// The text, to quote lines of.
    pub wgsl: String,
}

impl Program {
    /// A line as messages have it.
    pub fn quote(&self, at: u32) -> String {
        let line = self.lines[at as usize];
        let text = self.wgsl.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
        format!("line {line}: {}", text.trim())
    }
}
