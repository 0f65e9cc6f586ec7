//! Drafts from the text itself.

/// The place after the last one at which the last three ids of `text` stand before its end, or else its last two.
pub fn place_after(text: &[u32]) -> Option<usize> {
    let [.., third, second, last] = *text else { return None };
    let mut two = None;
    for at in (2..text.len()).rev().filter(|&at| text[at - 1] == last && text[at - 2] == second) {
        if at > 2 && text[at - 3] == third {
            return Some(at);
        }
        two = two.or(Some(at));
    }
    two
}

/// `count` ids that are likely to follow `text`: what followed its last three ids, or its last two, where they stood
/// last. After the end of the text that begins anew. None where they stood nowhere.
pub fn draft_after(text: &[u32], count: usize) -> Vec<u32> {
    let Some(at) = place_after(text) else { return Vec::new() };
    (0..count).map(|i| text[at + i % (text.len() - at)]).collect()
}

#[cfg(test)]
mod tests {
    use super::draft_after;

    #[test]
    fn a_text_goes_on_as_it_did_before() {
        assert_eq!(draft_after(&[1, 2, 3, 4, 5, 9, 1, 2, 3], 3), [4, 5, 9]);
        assert_eq!(draft_after(&[1, 2, 3, 4, 7, 2, 3, 5, 1, 2, 3], 2), [4, 7], "three ids come before two");
        assert_eq!(draft_after(&[8, 2, 3, 4, 7, 2, 3, 5, 1, 2, 3], 2), [5, 1], "of two the last place");
        assert_eq!(draft_after(&[5, 6, 5, 6, 5, 6], 5), [5, 6, 5, 6, 5], "and so on");
        assert_eq!(draft_after(&[4, 4, 4], 3), [4, 4, 4]);
        assert_eq!(draft_after(&[1, 2, 3, 4], 3), [0; 0]);
        assert_eq!(draft_after(&[7, 7], 3), [0; 0], "too short");
    }
}
