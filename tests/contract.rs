//! The contract between the shaders and their Rust side, read from the WGSL by naga: bindings, parameters, constants,
//! limits.
//!
//! Every dispatch of every harness case is looked at, so every variant is: all types, all topologies, with and without
//! subgroups.
#![cfg(all(not(target_arch = "wasm32"), feature = "harness"))]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use naga::proc::Layouter;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess, TypeInner};
use webgguf::compute;
use webgguf::formats::SECTION_OVERRIDES;
use webgguf::gguf::GgmlType;
use webgguf::harness::all_cases_without_weights;
use webgguf::kernels::layout::{Matrix, PackedLayout};
use webgguf::kernels::mat_mul::{MatMul, mat_mul};
use webgguf::kernels::mat_vec::{Epilogue, MatVec, RULES, choose, mat_vec};
use webgguf::kernels::pass::{Header, MAX_SEQUENCES, Row, Sequence};
use webgguf::kernels::repack::repack;
use webgguf::kernels::shaders::{self, FETCHED};
use webgguf::kernels::spec::{Access, BufferId, Dispatch, Kernel, KernelSpec, MAX_WORKGROUPS, SUBGROUP_MATRIX, Slice};
use webgguf::kernels::{
    self,
    caps::{Caps, MatrixShape},
};
use webgguf::model::GateKind;

/// Every kernel, those of `webgguf/compute` too.
fn catalogue() -> impl Iterator<Item = &'static KernelSpec> {
    kernels::CATALOGUE.iter().chain(compute::CATALOGUE).copied()
}

/// WebGPU's default limits: what every device has.
const MAX_WORKGROUP_BYTES: u32 = 16 << 10;

/// Bytes of workgroup memory of the devices with subgroup matrices that these tests assume.
const LARGE_WORKGROUP_BYTES: u32 = 48 << 10;
const MAX_THREADS: u32 = 256;
const MAX_STORAGE_BINDINGS: usize = 8;

fn with_subgroups(size: u32) -> Caps {
    Caps { subgroups: true, subgroup_size: (size, size), dot4: true, ..Caps::baseline() }
}

/// What every case on a device with these capabilities runs, and the feature that it needs and the device lacks.
fn dispatches(caps: &Caps) -> Vec<(Option<&'static str>, Dispatch)> {
    let cases = all_cases_without_weights(caps).into_iter();
    cases.flat_map(|case| case.dispatches.into_iter().map(move |dispatch| (case.needs, dispatch))).collect()
}

static OF_BASELINE: LazyLock<Vec<(Option<&'static str>, Dispatch)>> = LazyLock::new(|| dispatches(&Caps::baseline()));

/// Every dispatch of every case, and the products of real models, whose rows fill workgroup memory.
static DISPATCHES: LazyLock<Vec<Dispatch>> = LazyLock::new(|| {
    let of_shape = |shape| Caps {
        f16: true,
        subgroup_matrix: Some(shape),
        workgroup_memory: LARGE_WORKGROUP_BYTES,
        ..with_subgroups(32)
    };
    let of_cases = MatrixShape::ALL.map(of_shape).into_iter().flat_map(|caps| dispatches(&caps));
    OF_DEFAULT_LIMITS.iter().cloned().chain(of_cases.map(|(_, dispatch)| dispatch)).collect()
});

/// Dispatches of devices with WebGPU's default limits.
static OF_DEFAULT_LIMITS: LazyLock<Vec<Dispatch>> = LazyLock::new(|| {
    let of_cases = OF_BASELINE.iter().cloned().chain(dispatches(&with_subgroups(4))).map(|(_, dispatch)| dispatch);
    let packed_dots = Caps { vendor: "nvidia".into(), ..with_subgroups(32) };
    let products = SHAPES.iter().flat_map(|&[rows, cols]| {
        let weights = Matrix::whole(GgmlType::Q4_K, rows, cols, BufferId(9));
        let problem = MatVec::new(&weights, buffer(2), buffer(3));
        [&Caps::baseline(), &packed_dots].map(|caps| mat_vec(caps, buffer(0), buffer(1), &problem))
    });
    of_cases.chain(products.flatten()).collect()
});

/// One kernel of every pipeline that the cases need, by key.
fn pipelines() -> BTreeMap<String, &'static Kernel> {
    DISPATCHES.iter().map(|dispatch| (dispatch.kernel.key(), &dispatch.kernel)).collect()
}

/// One kernel of every shader text, by text.
fn kernels_by_text() -> BTreeMap<String, &'static Kernel> {
    pipelines().into_values().map(|kernel| (kernel.wgsl(), kernel)).collect()
}

/// Stands in for `shaders/device/shared/subgroup_matrix.wgsl`, whose extension naga does not know: the same functions
/// on numbers.
const MATRIX_FUNCTIONS: &str = "
alias XMatrix = f32;
alias WMatrix = f32;
alias SumMatrix = f32;
fn load_x_matrix(at: u32) -> XMatrix { return f32(tile[at].x); }
fn load_w_matrix(at: u32) -> WMatrix { return f32(tile[at].x); }
fn multiply_add(x: XMatrix, w: WMatrix, sum: SumMatrix) -> SumMatrix { return x * w + sum; }
fn store_sums(at: u32, sum: SumMatrix) { tile[at] = vec4<u32>(bitcast<u32>(sum)); }
fn halves_of(numbers: vec4<f32>) -> vec2<u32> {
    return vec2<u32>(pack2x16float(numbers.xy), pack2x16float(numbers.zw));
}
";

/// The same for `shaders/device/shared/subgroup_matrix_16.wgsl`.
const SQUARE_MATRIX_FUNCTIONS: &str = "
alias RowMatrix = f32;
alias KeyMatrix = f32;
alias SumMatrix = f32;
fn load_query(at: u32) -> RowMatrix { return f32(tile[at].x); }
fn load_key(at: u32) -> KeyMatrix { return f32(tile[at].x); }
fn load_values(at: u32) -> KeyMatrix { return f32(tile[at].x); }
fn load_weights(at: u32) -> RowMatrix { return f32(weights[at].x); }
fn multiply_add(row: RowMatrix, keys: KeyMatrix, sum: SumMatrix) -> SumMatrix { return row * keys + sum; }
fn load_sums(at: u32) -> SumMatrix { return scores[at].x; }
fn store_sums(at: u32, sum: SumMatrix) { scores[at].x = sum; }
fn halves_of(eight: Eight) -> vec4<u32> { return vec4<u32>(bitcast<vec4<u32>>(eight.low + eight.high)); }
";

/// The decimal literals of a shader, with their suffixes.
fn decimals(wgsl: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let words = wgsl.split(move |c| !is_word(c));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && !word.starts_with("0x"))
}

/// Digits of a decimal literal that are not zeros at its ends.
fn significant_digits(literal: &str) -> usize {
    let mantissa = literal.split(['e', 'f', 'h', 'u', 'i']).next().unwrap();
    let fraction = mantissa.contains('.');
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0');
    if fraction { digits.trim_end_matches('0').len() } else { digits.len() }
}

/// Functions of the language feature `packed_4x8_integer_dot_product`, which Safari lacks.
const PACKED_4X8: &[&str] = &["dot4I8Packed", "dot4U8Packed", "pack4xI8", "pack4xU8", "unpack4xI8", "unpack4xU8"];

/// Safari's compiler refuses literals of many digits (its lexer took them for integers of 64 bits until 2026), and
/// knows no language feature beyond WGSL of 2023. No browser of this project's tests has it, so this looks at the text.
#[test]
fn safari_takes_every_shader() {
    for (wgsl, kernel) in kernels_by_text() {
        // f32 needs 9, the integers of 32 bits 10.
        let long = decimals(&wgsl).find(|literal| significant_digits(literal) > 10);
        assert_eq!(long, None, "{} has a literal of many digits", kernel.id);
        assert!(!wgsl.lines().any(|line| line.starts_with("requires ")), "{} requires a language feature", kernel.id);
        let extensions: Vec<&str> = wgsl.lines().filter_map(|line| line.strip_prefix("enable ")).collect();
        let wanted: Vec<String> = kernel.enables.iter().map(|name| format!("{name};")).collect();
        assert_eq!(extensions, wanted, "{}", kernel.id);
        let known = |name: &&str| ["f16", "subgroups", SUBGROUP_MATRIX].contains(name);
        assert!(kernel.enables.iter().all(known), "{}: {:?}", kernel.id, kernel.enables);
    }
}

/// On a device without a feature no shader needs it; cases that do say so and are skipped.
#[test]
fn features_stay_in_their_variants() {
    let subgroups = Caps { dot4: false, ..with_subgroups(32) };
    let halves = Caps { f16: true, ..Caps::baseline() };
    for caps in [subgroups, halves, with_subgroups(32)] {
        features_stay(&caps, &dispatches(&caps));
    }
    features_stay(&Caps::baseline(), &OF_BASELINE);
}

fn features_stay(caps: &Caps, dispatches: &[(Option<&str>, Dispatch)]) {
    for (_, Dispatch { kernel, .. }) in dispatches.iter().filter(|(needs, _)| needs.is_none()) {
        let offered = |name: &&str| caps.f16 && *name == "f16" || caps.subgroups && *name == "subgroups";
        assert!(kernel.enables.iter().all(offered), "{} enables {:?} with {caps:?}", kernel.id, kernel.enables);
        let wgsl = kernel.wgsl();
        let packed = PACKED_4X8.iter().find(|name| wgsl.contains(**name));
        assert!(caps.dot4 || packed.is_none(), "{} calls {packed:?} with {caps:?}", kernel.id);
    }
}

fn shared(kernel_name: &str) -> &'static str {
    shaders::text(&format!("shared/{kernel_name}"))
}

/// The module of a shader, without what browsers demand and naga refuses.
fn parse(id: &str, wgsl: &str) -> (Module, ModuleInfo) {
    let wgsl = &wgsl.replace(shared("subgroup_matrix"), MATRIX_FUNCTIONS);
    let wgsl = &wgsl.replace(shared("subgroup_matrix_16"), SQUARE_MATRIX_FUNCTIONS);
    let refused = |line: &&str| {
        let extensions = ["enable subgroups", "enable chromium_experimental_subgroup_matrix", "diagnostic("];
        extensions.iter().any(|start| line.starts_with(start))
    };
    let text: String = wgsl.lines().filter(|line| !refused(line)).flat_map(|line| [line, "\n"]).collect();
    let module = naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{id}: {}", e.emit_to_string(&text)));
    // What WGSL has anyway: the f16 here is that of `unpack2x16float`.
    let capabilities = Capabilities::SUBGROUP | Capabilities::SHADER_FLOAT16 | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|e| panic!("{id}: {}", e.emit_to_string(&text)));
    (module, info)
}

/// (name, access) of each binding of group 0, in order.
fn bindings(module: &Module) -> Vec<(String, Access)> {
    let bound = module.global_variables.iter().filter_map(|(_, variable)| {
        let binding = variable.binding.as_ref()?;
        assert_eq!(binding.group, 0);
        let access = match variable.space {
            AddressSpace::Uniform => Access::Uniform,
            AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => Access::ReadWrite,
            AddressSpace::Storage { .. } => Access::Read,
            space => panic!("{:?} in {space:?} has a binding", variable.name),
        };
        Some((binding.binding, (variable.name.clone().unwrap_or_default(), access)))
    });
    let bound: BTreeMap<u32, (String, Access)> = bound.collect();
    assert!(bound.keys().copied().eq(0..bound.len() as u32), "bindings {:?}", bound.keys());
    bound.into_values().collect()
}

/// (size, [(field, offset)]) of the struct with this name.
fn layout(module: &Module, name: &str) -> Option<(usize, Vec<(String, usize)>)> {
    module.types.iter().find_map(|(_, ty)| match &ty.inner {
        TypeInner::Struct { members, span } if ty.name.as_deref() == Some(name) => {
            let field = |m: &naga::StructMember| (m.name.clone().unwrap_or_default(), m.offset as usize);
            Some((*span as usize, members.iter().map(field).collect()))
        }
        _ => None,
    })
}

#[test]
fn bindings_and_parameters_are_those_of_the_spec() {
    for (wgsl, kernel) in kernels_by_text() {
        let (module, _) = parse(&kernel.id, &wgsl);
        let expected: Vec<_> = kernel.spec.bindings.iter().map(|b| (b.name.to_owned(), b.access)).collect();
        assert_eq!(bindings(&module), expected, "{}", kernel.id);
        let storage = expected.iter().filter(|(_, access)| *access != Access::Uniform).count();
        assert!(storage <= MAX_STORAGE_BINDINGS, "{}: {storage} storage bindings", kernel.id);
        let fields = kernel.spec.params.fields.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect();
        assert_eq!(layout(&module, "Params"), Some((kernel.spec.params.size, fields)), "{}", kernel.id);
    }
}

/// The fields of structs of `u32` and of one another, with their offsets.
macro_rules! fields {
    ($ty:ty: $($field:ident),*) => {
        vec![$((stringify!($field).to_owned(), std::mem::offset_of!($ty, $field))),*]
    };
}

#[test]
fn the_pass_is_the_same_on_both_sides() {
    let mut of_pass = fields!(Header: rows, outputs);
    let seen = std::mem::offset_of!(Header, seen);
    of_pass.extend([("seen_first".to_owned(), seen), ("seen_end".to_owned(), seen + 4)]);
    of_pass.extend(fields!(Header: sequences));
    of_pass.push(("row".to_owned(), size_of::<Header>()));
    let of_sequence = (size_of::<Sequence>(), fields!(Sequence: token, done, steps, position));
    let of_row = (size_of::<Row>(), fields!(Row: token, position, sequence, flags));
    let mut seen = 0;
    for (wgsl, kernel) in kernels_by_text() {
        let (module, _) = parse(&kernel.id, &wgsl);
        let Some((_, fields)) = layout(&module, "Pass") else { continue };
        assert_eq!(fields, of_pass, "{}", kernel.id);
        assert_eq!(layout(&module, "Sequence"), Some(of_sequence.clone()), "{}", kernel.id);
        assert_eq!(layout(&module, "Row"), Some(of_row.clone()), "{}", kernel.id);
        seen += 1;
    }
    assert!(seen > 50, "only {seen} shaders read a pass");
    assert_eq!(size_of::<Header>(), of_pass[4].1 + MAX_SEQUENCES * size_of::<Sequence>());
}

#[test]
fn overrides_are_declared_and_given() {
    for (wgsl, kernel) in kernels_by_text() {
        let (module, _) = parse(&kernel.id, &wgsl);
        let named = |(_, o): (_, &naga::Override)| (o.name.clone().unwrap_or_default(), o.init.is_some());
        let declared: BTreeMap<String, bool> = module.overrides.iter().map(named).collect();
        let given: BTreeSet<&str> = kernel.constants.iter().map(|(name, _)| *name).collect();
        assert_eq!(given.len(), kernel.constants.len(), "{} gives a constant twice", kernel.id);
        // WebGPU refuses a pipeline with a constant that the shader does not declare.
        assert!(given.iter().all(|name| declared.contains_key(*name)), "{}: {given:?} of {declared:?}", kernel.id);
        for (name, has_default) in &declared {
            assert!(*has_default || given.contains(name.as_str()), "{} lacks {name}", kernel.id);
        }
        let known: BTreeSet<&str> = kernel.spec.overrides.iter().chain(SECTION_OVERRIDES).copied().collect();
        assert!(given.is_subset(&known), "{}: {given:?} of {known:?}", kernel.id);
        assert!(kernel.spec.overrides.iter().all(|name| given.contains(name)), "{}: {given:?}", kernel.id);
    }
}

#[test]
fn every_pipeline_stays_within_the_default_limits() {
    let mut modules = BTreeMap::new();
    let of_default_limits: BTreeSet<String> = OF_DEFAULT_LIMITS.iter().map(|dispatch| dispatch.kernel.key()).collect();
    for (key, kernel) in pipelines() {
        let (module, info) = modules.entry(kernel.wgsl()).or_insert_with_key(|wgsl| parse(&kernel.id, wgsl));
        let constants = kernel.constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let entry = Some((ShaderStage::Compute, "main"));
        let (module, _) = naga::back::pipeline_constants::process_overrides(module, info, entry, &constants)
            .unwrap_or_else(|e| panic!("{key}: {e}"));
        let threads: u32 = module.entry_points[0].workgroup_size.iter().product();
        assert!((1..=MAX_THREADS).contains(&threads), "{key}: {threads} threads");
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).unwrap_or_else(|e| panic!("{key}: {e}"));
        let workgroup = module.global_variables.iter().filter(|(_, v)| v.space == AddressSpace::WorkGroup);
        let bytes: u32 = workgroup.map(|(_, v)| layouter[v.ty].size.next_multiple_of(16)).sum();
        let matrices = kernel.enables.contains(&SUBGROUP_MATRIX);
        let is_default = of_default_limits.contains(&key) && !matrices;
        let most = if is_default { MAX_WORKGROUP_BYTES } else { LARGE_WORKGROUP_BYTES };
        assert!(bytes <= most, "{key}: {bytes} bytes of workgroup memory");
    }
}

#[test]
fn a_key_names_one_pipeline() {
    let mut texts = BTreeMap::new();
    for Dispatch { kernel, .. } in DISPATCHES.iter() {
        let text = texts.entry(kernel.key()).or_insert_with(|| kernel.wgsl());
        assert_eq!(*text, kernel.wgsl(), "{} names two shaders", kernel.key());
    }
}

/// Every shader as it stands on disk, by name: `name` of a kernel's, `shared/name` of a file to import.
static SHADERS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut found = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let name = match folder.strip_prefix(&root).unwrap().to_str().unwrap() {
                "model" | "rare/model" | "device/model" | "tensor" => stem.to_owned(),
                "compute" => format!("compute/{stem}"),
                _ => format!("shared/{stem}"),
            };
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(found.insert(name, text), None, "{} is a name twice", path.display());
        }
    }
    found
});

fn shader_file(name: &str) -> &'static str {
    SHADERS.get(name).unwrap_or_else(|| panic!("no shader {name}"))
}

#[test]
fn files_catalogue_and_cases_agree() {
    let specs: Vec<&KernelSpec> = catalogue().collect();
    let catalogue: BTreeSet<String> = specs.iter().map(|spec| spec.kernel_name.to_owned()).collect();
    assert_eq!(catalogue.len(), specs.len(), "a kernel_name stands in the catalogue twice");
    let kernels = SHADERS.keys().filter(|name| !name.starts_with("shared/"));
    assert_eq!(catalogue, kernels.cloned().collect());
    let tried: BTreeSet<String> = pipelines().into_values().map(|kernel| kernel.spec.kernel_name.to_owned()).collect();
    assert_eq!(catalogue, tried, "kernel_names with and without harness cases");
    let files: BTreeSet<&str> = shaders::files().map(|(name, _)| name).collect();
    assert!(files.len() == shaders::files().count() && files.into_iter().eq(SHADERS.keys().map(String::as_str)));
    for (name, text) in shaders::files() {
        let code = shader_file(name);
        let lines = code.lines().map(|line| line.split("//").next().unwrap().trim()).filter(|line| !line.is_empty());
        assert!(lines.eq(text.lines()), "{name} has another text");
    }
}

/// The files that `kernel` is made of: its own, and what they import.
fn files_of(kernel: &Kernel) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![kernel.spec.kernel_name.to_owned()];
    while let Some(file) = open.pop() {
        let text = shader_file(&file);
        let imports = text.lines().filter_map(|line| line.trim().strip_prefix("#import ")).map(str::trim);
        let chosen = |name| kernel.imports.iter().find(|(from, _)| *from == name).map_or(name, |(_, file)| *file);
        open.extend(imports.map(|name| format!("shared/{}", chosen(name))).filter(|file| !found.contains(file)));
        found.insert(file);
    }
    found
}

/// A wasm of a page without a `Gpu` has no other text than its own.
#[test]
fn kernels_in_the_wasm_import_files_in_the_wasm() {
    let is_fetched = |file: &str| FETCHED.contains(&file);
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    for kernel in pipelines().into_values() {
        let name = kernel.spec.kernel_name;
        let fetched: Vec<String> = files_of(kernel).into_iter().filter(|file| is_fetched(file)).collect();
        assert!(is_fetched(name) || name.starts_with("compute/") || fetched.is_empty(), "{}: {fetched:?}", kernel.id);
        needed.extend(FETCHED.iter().filter(|file| fetched.iter().any(|found| found == *file)));
    }
    assert!(needed.iter().copied().eq(FETCHED.iter().copied().collect::<BTreeSet<_>>()), "fetched: {needed:?}");
}

#[test]
fn every_shared_file_is_used() {
    let all: String = kernels_by_text().into_keys().collect();
    for (kernel_name, text) in shaders::files() {
        let body = text.lines().rfind(|line| line.len() > 12 && !line.starts_with("#import")).unwrap_or_default();
        assert!(all.contains(body), "no variant imports {kernel_name}");
    }
}

/// Kernels in whose shaders the mutants of a file live, one entry for each mutant and kernel.
///
/// A line `// mutant: A => B` above a line of a kernel's file says that the line with its only `A` replaced by `B` is
/// wrong. In a shared file it names the kernels that import it: `// mutant (KERNEL, …): A => B`.
fn mutants(file: &str, shared: bool) -> Vec<String> {
    let text = shader_file(file);
    let mut kernels = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for line in text.lines() {
        let Some(marker) = line.trim_start().strip_prefix("// mutant") else {
            let code = line.split("//").next().unwrap();
            for from in open.drain(..) {
                assert_eq!(code.matches(from).count(), 1, "{file} wants {from:?} once in: {line}");
            }
            continue;
        };
        let (named, change) = marker.split_once(':').unwrap_or_else(|| panic!("{file}: {line}"));
        let (from, to) = change.split_once(" =>").unwrap_or_else(|| panic!("{file} has no => in: {line}"));
        assert!(!from.trim().is_empty() && from.trim() != to.trim(), "{file} changes nothing: {line}");
        open.push(from.trim());
        let named: Vec<&str> = named.trim().trim_matches(['(', ')']).split(", ").filter(|s| !s.is_empty()).collect();
        assert_eq!(shared, !named.is_empty(), "only shared files name kernels, and they do: {file}: {line}");
        let unknown = named.iter().find(|name| catalogue().all(|spec| spec.kernel_name != **name));
        assert_eq!(unknown, None, "{file} names a kernel that does not exist");
        kernels.extend(if shared { named } else { vec![file] }.into_iter().map(str::to_owned));
    }
    kernels
}

/// tests/page/mutants.test.mjs sees that a case kills each.
#[test]
fn every_shader_has_a_mutant() {
    let kernels = catalogue().map(|spec| (spec.kernel_name.to_owned(), false));
    // Files without a function declare what others use; an empty one has nothing to get wrong.
    let computes = |text: &str| text.lines().any(|line| line.starts_with("fn ") && !line.ends_with("{}"));
    let shared = shaders::files().filter(|(name, _)| name.starts_with("shared/"));
    let shared = shared.map(|(name, text)| (name.to_owned(), computes(text)));
    let needed = kernels.map(|(file, shared)| (file, shared, true)).chain(shared.map(|(file, fun)| (file, true, fun)));
    let without: Vec<String> = needed
        .filter(|(file, shared, needed)| mutants(file, *shared).is_empty() && *needed)
        .map(|(file, ..)| file)
        .collect();
    assert!(without.is_empty(), "no mutant in {without:?}");
}

/// Rows × columns of real models, the largest vocabulary among them.
const SHAPES: &[[u32; 2]] = &[[512, 2048], [16384, 2048], [2048, 8192], [151_936, 4096], [262_144, 2560]];

fn workgroups(dispatch: &Dispatch, tokens: u32) -> [u32; 3] {
    let grid = dispatch.grid.map(|extent| extent.resolve(tokens));
    assert!(grid.iter().all(|n| (1..=MAX_WORKGROUPS).contains(n)), "{}: grid {grid:?}", dispatch.kernel.key());
    grid
}

fn constant(kernel: &Kernel, name: &str) -> u32 {
    kernel.constants.iter().find(|(n, _)| *n == name).map_or(0, |(_, value)| *value as u32)
}

const fn buffer(i: u32) -> Slice {
    Slice { buffer: BufferId(i), offset: 0, size: None }
}

fn mat_vec_covers(caps: &Caps, weights: &Matrix, epilogue: Epilogue) {
    let (x, y) = (buffer(2), buffer(3));
    let problem = MatVec { epilogue, ..MatVec::new(weights, x, y) };
    let dispatch = &mat_vec(caps, buffer(0), buffer(1), &problem)[0];
    let [slots, lanes, threads, rows] =
        ["ROWS_PER_GROUP", "LANES", "WG_SIZE", "ROWS"].map(|n| constant(&dispatch.kernel, n));
    let outputs = if matches!(epilogue, Epilogue::Gate(_)) { slots / 2 } else { slots };
    let split = dispatch.kernel.spec.kernel_name == "mat_vec_split";
    let group_rows = if split { outputs } else { constant(&dispatch.kernel, "GROUP_ROWS") };
    let key = dispatch.kernel.key();
    assert!(outputs > 0 && group_rows.is_multiple_of(outputs), "{key}");
    assert!(lanes == 0 || threads.is_multiple_of(lanes) && lanes.is_power_of_two(), "{key}");
    assert!(workgroups(dispatch, 1).iter().product::<u32>() * group_rows >= rows, "{key}");
}

fn mat_mul_covers(caps: &Caps, weights: &Matrix, tokens: u32) {
    let (x, y, epilogue) = (buffer(2), buffer(3), Epilogue::Store);
    let (x_stride, y_stride) = (weights.cols, weights.rows);
    let problem = MatMul { x_rows: tokens, weights, x, x_stride, bias: None, epilogue, y, y_stride, y_offset: 0 };
    let dispatch = &mat_mul(caps, buffer(0), buffer(1), &problem)[0];
    let [x, y, _] = workgroups(dispatch, tokens);
    let side =
        if dispatch.kernel.spec.kernel_name == "mat_mul_8x8" { 64 } else { 4 * constant(&dispatch.kernel, "TX") };
    assert!(x * side >= weights.rows, "{}", dispatch.kernel.key());
    assert!(y * side >= tokens, "{}", dispatch.kernel.key());
}

/// The last rows, as many as fit into 64 MiB of the file.
fn repack_covers(layout: &PackedLayout) {
    let slice = ((64 << 20) / layout.raw_row_bytes() as u32).min(layout.rows);
    let dispatch = repack(layout, layout.rows - slice, slice, &buffer(1).into(), buffer(2));
    let threads = workgroups(&dispatch, 1).iter().product::<u32>() * constant(&dispatch.kernel, "WG_SIZE");
    assert!(threads >= slice * layout.blocks_per_row(), "{}", dispatch.kernel.key());
}

#[test]
fn grids_cover_the_matrices_of_real_models() {
    for (ty, &[rows, cols]) in GgmlType::ALL.into_iter().flat_map(|ty| SHAPES.iter().map(move |shape| (ty, shape))) {
        let weights = Matrix::whole(ty, rows, cols, BufferId(9));
        for caps in [Caps::baseline(), with_subgroups(4), with_subgroups(32), with_subgroups(64)] {
            mat_vec_covers(&caps, &weights, Epilogue::Store);
            mat_vec_covers(&caps, &weights, Epilogue::Gate(GateKind::SwiGlu));
            mat_mul_covers(&caps, &weights, 511);
        }
        repack_covers(&PackedLayout::new(ty, rows, cols));
    }
}

#[test]
fn the_last_rule_holds_for_everything() {
    let last = RULES.last().unwrap();
    assert!(!last.subgroups && last.min_rows == 0 && last.min_blocks == 0);
    for &[rows, cols] in SHAPES {
        for caps in [Caps::baseline(), with_subgroups(32)] {
            println!(
                "mat_vec {rows}×{cols}, subgroups {}: {:?}",
                caps.subgroups,
                choose(&caps, GgmlType::Q4_0, rows, cols)
            );
        }
    }
    assert_ne!(choose(&Caps::baseline(), GgmlType::Q4_0, 4096, 4096).lanes, 0, "no subgroups where there are none");
    assert_eq!(choose(&with_subgroups(32), GgmlType::Q4_0, 4096, 4096).lanes, 0);
}
