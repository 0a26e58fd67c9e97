//! The query part of a URL, decoded.

use http::Uri;
use percent_encoding::percent_decode_str;

/// Names and values in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// The query of a URL.
    pub(crate) fn of(uri: &Uri) -> Self {
        Self::parse(uri.query().unwrap_or_default())
    }

    /// A query or a form body.
    pub(crate) fn parse(text: &str) -> Self {
        let decode = |part: &str| {
            percent_decode_str(&part.replace('+', " "))
                .decode_utf8_lossy()
                .into_owned()
        };
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(key, value)| (decode(key), decode(value)))
                .collect(),
        )
    }

    /// The first value of a name.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| found == key)
            .map(|(_, value)| value.as_str())
    }

    /// Whether a name is set to true.
    pub(crate) fn is(&self, key: &str) -> bool {
        matches!(self.get(key), Some("true" | "1"))
    }
}
