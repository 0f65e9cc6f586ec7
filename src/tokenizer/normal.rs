//! Unicode's normalization forms (Unicode Standard Annex 15). In a page the tables are JavaScript's.

use std::borrow::Cow;

/// Values of `tokenizer.ggml.pre` whose models have a tokenizer of their own that composes texts (form C) before it
/// cuts them: Qwen 2 to 3.5, those made of GPT-NeoX's (OLMo, MPT, ModernBERT), and Cohere's. GGUF has no key for it,
/// and llama.cpp does not do it.
const COMPOSING: [&str; 10] = [
    "qwen2",
    "qwen35",
    "deepseek-r1-qwen",
    "f2llmv2",
    "olmo",
    "mpt",
    "modern-bert",
    "command-r",
    "tiny_aya",
    "cohere2moe",
];

/// Whether models of this pre-tokenizer were trained on composed texts.
pub(super) fn composes(pre: &str) -> bool {
    COMPOSING.contains(&pre)
}

/// `text` in form C: letters followed by marks are one character where Unicode has it.
pub(super) fn composed(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_composed) { Cow::Borrowed(text) } else { Cow::Owned(normalized(text, Form::C)) }
}

/// `text` in form D: letters with accents are letters followed by marks.
pub(super) fn decomposed(text: &str) -> String {
    normalized(text, Form::D)
}

/// Characters that stand for themselves in form C and do not join the one before: not all, but those of most texts.
fn is_composed(character: char) -> bool {
    matches!(character,
        '\0'..='\u{2ff}' | '\u{400}'..='\u{482}' | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fe}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{2010}'..='\u{2027}'
        | '\u{ff01}'..='\u{ff5e}' | '\u{1f300}'..='\u{1faff}')
}

#[derive(Clone, Copy)]
enum Form {
    C,
    D,
}

#[cfg(target_arch = "wasm32")]
fn normalized(text: &str, form: Form) -> String {
    let name = if matches!(form, Form::C) { "NFC" } else { "NFD" };
    js_sys::JsString::from(text).normalize(name).into()
}

/// The same where there is no JavaScript.
#[cfg(not(target_arch = "wasm32"))]
fn normalized(text: &str, form: Form) -> String {
    match form {
        Form::C => icu_normalizer::ComposingNormalizerBorrowed::new_nfc().normalize(text),
        Form::D => icu_normalizer::DecomposingNormalizerBorrowed::new_nfd().normalize(text),
    }
    .into_owned()
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_for_composed_is() {
        let normalizer = icu_normalizer::ComposingNormalizerBorrowed::new_nfc();
        let starters = ['a', 'e', '\u{1100}', '\u{ac00}', 'か', 'ハ', '\u{915}', '\u{5d0}'];
        for character in ('\0'..=char::MAX).filter(|&character| is_composed(character)) {
            let text = character.to_string();
            assert_eq!(normalizer.normalize(&text), text, "{character:?} changes");
            for before in starters {
                let text = format!("{before}{character}");
                assert_eq!(normalizer.normalize(&text), text, "{text:?} changes");
            }
        }
    }

    #[test]
    fn letters_and_marks_become_one() {
        for (text, expected) in [
            ("cafe\u{301} \u{1112}\u{1161}\u{11ab}", "café 한"),
            ("\u{ac00}\u{11a8}\u{212b}\u{2126}", "각ÅΩ"),
            ("か\u{3099} ハ\u{309a}", "が パ"),
            ("plain, 漢字 ½ ﬁ", "plain, 漢字 ½ ﬁ"),
        ] {
            assert_eq!(composed(text), expected);
            assert_eq!(composed(expected), expected);
        }
        assert_eq!(decomposed("é"), "e\u{301}");
    }
}
