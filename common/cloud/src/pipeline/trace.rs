//! What may be written down about a request: never a token, secret or signature.

/// Words after which a value is a secret.
const MARKS: [&str; 9] = [
    "sig=",
    "client_secret=",
    "client_assertion=",
    "access_token=",
    "accountkey=",
    "bearer ",
    "\"access_token\":\"",
    "\"client_secret\":\"",
    "\"accesssas\":\"",
];

/// Replaces the values of secrets inside a text that comes from outside.
#[must_use]
pub fn redact(text: &str) -> String {
    let folded = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let next = MARKS
            .iter()
            .filter_map(|mark| Some(at + folded[at..].find(mark)? + mark.len()))
            .min();
        let Some(start) = next else {
            break;
        };
        out.push_str(&text[at..start]);
        let value = &text[start..];
        let end = value
            .find(|c: char| c.is_whitespace() || "&\"'<>,;".contains(c))
            .unwrap_or(value.len());
        if end > 0 {
            out.push_str("REDACTED");
        }
        at = start + end;
    }
    out.push_str(&text[at..]);
    out
}

/// A URL for the log: without its query, because operation URLs are signed.
#[must_use]
pub fn path_of(uri: &http::Uri) -> &str {
    uri.path()
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn values_of_secrets_are_replaced_and_the_rest_stays() {
        for (text, expected) in [
            ("plain", "plain"),
            (
                "https://a/b?sv=1&sig=ab%2Fc&se=2",
                "https://a/b?sv=1&sig=REDACTED&se=2",
            ),
            (
                "Authorization: Bearer eyJ.x.y end",
                "Authorization: Bearer REDACTED end",
            ),
            (
                r#"{"access_token":"eyJ","x":1}"#,
                r#"{"access_token":"REDACTED","x":1}"#,
            ),
            ("client_secret=geheim", "client_secret=REDACTED"),
            ("Übergrößenträger sig=ä", "Übergrößenträger sig=REDACTED"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }
}
