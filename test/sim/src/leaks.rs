//! Secrets in what a program logs.

use crate::state::State;

/// Shorter texts are no secrets, and would be found everywhere.
const LEAST: usize = 8;
/// The first characters of every token: `{"` in base64.
const TOKEN: &str = "eyJ";

/// Numbers of the lines, from 1 on, that hold a secret.
pub(crate) fn lines(state: &State, text: &str) -> Vec<usize> {
    let accounts = state.world.accounts.values();
    let keys = accounts.flat_map(|account| &account.keys);
    let keys = keys.map(|key| key.value.as_str());
    let given = state.knobs.secrets.iter().map(String::as_str);
    let known: Vec<&str> = keys
        .chain(given)
        .filter(|secret| secret.len() >= LEAST)
        .collect();
    let holds = |line: &str| {
        known.iter().any(|secret| line.contains(secret)) || has_token(line) || has_signature(line)
    };
    let numbered = text.lines().enumerate();
    numbered
        .filter(|(_, line)| holds(line))
        .map(|(index, _)| index + 1)
        .collect()
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '%')
}

/// How many characters of an encoded secret a text begins with.
fn run(text: &str) -> usize {
    text.chars().take_while(|&c| is_base64(c)).count()
}

/// A token: two parts at least, joined by a dot.
fn has_token(line: &str) -> bool {
    line.match_indices(TOKEN).any(|(at, _)| {
        let rest = line.get(at..).unwrap_or_default();
        let first = run(rest);
        let second = rest
            .get(first..)
            .and_then(|rest| rest.strip_prefix('.'))
            .map_or(0, run);
        first > 10 && second > 10
    })
}

/// The signature of a shared access signature.
fn has_signature(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    lower.match_indices("sig=").any(|(at, word)| {
        let rest = lower.get(at + word.len()..).unwrap_or_default();
        run(rest) >= 20
    })
}

#[cfg(test)]
mod tests {
    use super::{has_signature, has_token};

    #[test]
    fn tokens_and_signatures_are_told_from_words() {
        assert!(has_token(
            "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0x.c2ln"
        ));
        assert!(!has_token("eyJustAWordThatIsLong and more"));
        assert!(has_signature(
            "https://a/b?se=1&SIG=AbCdEf%2FghIjKlMnOpQrStUv%3D"
        ));
        assert!(!has_signature("sig=REDACTED, design=aaaa"));
    }
}
