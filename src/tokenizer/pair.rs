//! Two texts as one prompt, for a model that judges the second by the first.

use super::Tokenizer;

/// The ids of two texts for a model that judges the second by the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The ids of both texts, with the special tokens that the model wants.
    pub ids: Vec<u32>,
    /// Where the second text begins in `ids`; `None` where the model has a prompt for pairs.
    pub second: Option<usize>,
}

impl Tokenizer {
    /// The token ids of a query and a document for a reranker: `[CLS] query [SEP] document [SEP]`,
    /// `<s> query </s></s> document </s>`, or the file's own prompt, as the model was trained. Special tokens in the
    /// texts are text.
    pub fn encode_pair(&self, query: &str, document: &str) -> Pair {
        if let Some(template) = &self.rank_template {
            return Pair { ids: self.encode_in(template, query, document), second: None };
        }
        let mut ids: Vec<u32> = self.rules.begin.into_iter().collect();
        ids.extend(self.encode(query, false, false));
        ids.extend(self.rules.between.into_iter().flatten());
        let second = ids.len();
        ids.extend(self.encode(document, false, false));
        ids.extend(self.rules.end);
        Pair { ids, second: Some(second) }
    }

    /// As [`Self::encode_pair`], with at most `most` ids: the end of a document that does not fit is left out. A query
    /// that does not fit without any document stays too long.
    pub fn encode_pair_within(&self, query: &str, document: &str, most: usize) -> Vec<u32> {
        let Pair { mut ids, second } = self.encode_pair(query, document);
        if ids.len() <= most {
            return ids;
        }
        match (&self.rank_template, second) {
            (Some(template), _) => self.encode_beginning(template, query, document, most),
            (None, Some(second)) if second < most => {
                self.cut(&mut ids, most);
                ids
            }
            _ => ids,
        }
    }

    /// Leaves out the ids past `most`; a special token at the end stays there.
    pub fn cut(&self, ids: &mut Vec<u32>, most: usize) {
        let last = ids.last().copied().filter(|&id| self.is_special(id));
        ids.truncate(most);
        if let (Some(end), Some(last)) = (ids.last_mut(), last) {
            *end = last;
        }
    }

    /// The prompt with the longest beginning of the document that fits, found by halves. The document is cut as text,
    /// since the prompt goes on behind it.
    fn encode_beginning(&self, template: &str, query: &str, document: &str, most: usize) -> Vec<u32> {
        let cut_at = |bytes: usize| &document[..document.floor_char_boundary(bytes)];
        let (mut fits, mut too_long) = (0, document.len());
        let mut ids = self.encode_in(template, query, "");
        // A token has some characters: a first guess that is far too long would be encoded for nothing.
        let mut guess = 8 * most;
        while too_long - fits > 1 {
            let middle = (fits + (too_long - fits) / 2).min(guess.max(fits + 1));
            let found = self.encode_in(template, query, cut_at(middle));
            if found.len() <= most {
                (fits, guess, ids) = (middle, 2 * guess, found);
            } else {
                too_long = middle;
            }
        }
        ids
    }

    fn encode_in(&self, template: &str, query: &str, document: &str) -> Vec<u32> {
        let [query, document] = [query, document].map(|text| self.protect(text, |_| false));
        let parts = template.split("{query}").map(|part| part.replace("{document}", &document));
        self.encode(&parts.collect::<Vec<_>>().join(&query), false, true)
    }
}
