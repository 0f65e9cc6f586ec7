//! Families whose code pages fetch with the first model of one: `tools/modules.mjs` takes this folder out of the
//! WebAssembly. Nothing outside of it may call a function here but through the programs of [`FAMILIES`].

mod alibi;
mod bailing;
mod bert;
mod bitnet;
mod dflash;
mod eagle3;
mod ernie;
mod gemma3n;
mod gemma4_assistant;
mod granite_switch;
mod hrm;
mod latent;
mod lfm2;
mod mamba;
mod mamba2;
mod plamo2;
mod qwen35;
mod recurrent;
mod rwkv;
mod smallthinker;
mod t5;

use super::super::config::{Axes, Embeds};
use super::super::drafter::Kind;
use super::{Family, family};

/// Architectures whose code is not there before it is asked for: see [`super::is_rare`].
pub(super) static FAMILIES: &[Family] = &[
    family("qwen35", qwen35::qwen35).axes(Axes::ByTurns),
    family("qwen35moe", qwen35::qwen35).axes(Axes::ByTurns),
    family("qwen3next", qwen35::qwen3next),
    family("bert", bert::bert).embeds(Embeds::Always),
    family("nomic-bert", bert::nomic_bert).embeds(Embeds::Always),
    family("modern-bert", bert::modern_bert).embeds(Embeds::Always),
    family("lfm2", lfm2::lfm2),
    family("lfm2moe", lfm2::lfm2),
    family("lfm3", lfm2::lfm3),
    family("mamba2", mamba2::mamba2),
    family("granitehybrid", mamba2::granite_hybrid),
    family("falcon-h1", mamba2::falcon_h1),
    family("gemma3n", gemma3n::gemma3n),
    family("smallthinker", smallthinker::smallthinker),
    family("ernie4_5-moe", ernie::ernie4_5_moe),
    family("bitnet", bitnet::bitnet),
    family("bailingmoe", bailing::bailingmoe),
    family("bailingmoe2", bailing::bailingmoe2),
    family("nemotron_h", mamba2::nemotron_h),
    family("nemotron_h_moe", mamba2::nemotron_h),
    family("bloom", alibi::bloom),
    family("mpt", alibi::mpt),
    family("baichuan", alibi::baichuan),
    family("jina-bert-v2", bert::jina_bert_v2).embeds(Embeds::Always),
    family("refact", alibi::refact),
    family("jais", alibi::jais),
    family("deepseek", bailing::deepseek),
    family("deepseek2", latent::deepseek2),
    family("deepseek2-ocr", bailing::deepseek_ocr),
    family("mamba", mamba::mamba),
    family("jamba", mamba::jamba),
    family("plamo2", plamo2::plamo2),
    family("plamo3", plamo2::plamo2),
    family("minicpm3", latent::minicpm3),
    family("plm", latent::plm),
    family("afmoe", bailing::afmoe),
    family("maion-coder", bailing::afmoe),
    family("hrm_text", hrm::hrm_text),
    family("graniteswitch", granite_switch::granite_switch),
    family("rwkv7", rwkv::rwkv7),
    family("arwkv7", rwkv::arwkv7),
    family("rwkv6", rwkv::rwkv6),
    family("rwkv6qwen2", rwkv::rwkv6qwen2),
    family("neo-bert", bert::neo_bert).embeds(Embeds::Always),
    family("nomic-bert-moe", bert::nomic_bert_moe).embeds(Embeds::Always),
    family("jina-bert-v3", bert::jina_bert_v3).embeds(Embeds::Always),
    family("t5encoder", t5::t5encoder).embeds(Embeds::Always),
    family("t5", t5::t5),
];

/// Drafters that are files of their own.
pub(in crate::model) static DRAFTERS: &[Kind] = &[eagle3::EAGLE3, gemma4_assistant::ASSISTANT, dflash::DFLASH];

/// The architectures among these whose models run no rare shaders but for their tensor types: pages fetch none with the
/// code.
pub(super) const USUAL: [&str; 7] = ["bitnet", "bloom", "mpt", "baichuan", "refact", "jais", "plamo3"];
