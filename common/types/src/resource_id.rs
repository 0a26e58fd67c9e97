//! The grammar of Azure resource ids.
//!
//! `/subscriptions/{s}/resourceGroups/{g}/providers/{namespace}/{type}/{name}[/{type}/{name}]…`
//!
//! Azure compares ids without regard to case and returns them in other spellings than they were
//! stored in, so equality and hashing fold ASCII case while the spelling is kept (REST reference,
//! "Resource ids").

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// A resource inside a resource group.
#[derive(Clone)]
pub struct ResourceId {
    text: Box<str>,
    segments: Box<[Span]>,
}

/// Where a segment begins and ends. Narrow: a controller keeps an id or two of every disk.
#[derive(Clone, Copy)]
struct Span {
    from: u16,
    to: u16,
}

impl Span {
    fn of(self, text: &str) -> &str {
        &text[usize::from(self.from)..usize::from(self.to)]
    }
}

/// Why a text is not a resource id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an Azure resource id: expected {expected}")]
pub struct NotAResourceId {
    text: String,
    expected: &'static str,
}

const SHAPE: &str = "/subscriptions/<id>/resourceGroups/<name>/providers/<namespace>/<type>/<name>";

/// Positions of the variable segments in `/subscriptions/{1}/resourceGroups/{3}/providers/{5}/…`.
const SUBSCRIPTION: usize = 1;
const GROUP: usize = 3;
const NAMESPACE: usize = 5;
const FIRST_TYPE: usize = 6;

impl ResourceId {
    /// The id of a top-level resource.
    ///
    /// # Errors
    /// If a part is empty or holds a `/`.
    pub fn new(
        subscription: &str,
        resource_group: &str,
        namespace_and_type: (&str, &str),
        name: &str,
    ) -> Result<Self, NotAResourceId> {
        let (namespace, kind) = namespace_and_type;
        let text = format!(
            "/subscriptions/{subscription}/resourceGroups/{resource_group}/providers/{namespace}/{kind}/{name}"
        );
        let parts = [subscription, resource_group, namespace, kind, name];
        if parts.iter().any(|part| part.contains('/')) {
            return Err(NotAResourceId {
                text: abridge(&text),
                expected: SHAPE,
            });
        }
        text.parse()
    }

    fn segment(&self, index: usize) -> &str {
        self.segments
            .get(index)
            .map_or("", |span| span.of(&self.text))
    }

    /// The subscription.
    #[must_use]
    pub fn subscription(&self) -> &str {
        self.segment(SUBSCRIPTION)
    }

    /// The resource group.
    #[must_use]
    pub fn resource_group(&self) -> &str {
        self.segment(GROUP)
    }

    /// The provider namespace, such as `Microsoft.Compute`.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.segment(NAMESPACE)
    }

    /// The types from the outermost to the innermost.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.segments[FIRST_TYPE..]
            .iter()
            .step_by(2)
            .map(|span| span.of(&self.text))
    }

    /// The names from the outermost to the innermost.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.segments[FIRST_TYPE + 1..]
            .iter()
            .step_by(2)
            .map(|span| span.of(&self.text))
    }

    /// The name of the resource itself.
    #[must_use]
    pub fn name(&self) -> &str {
        self.segment(self.segments.len() - 1)
    }

    /// Whether it is of this namespace and these types, whatever their case.
    #[must_use]
    pub fn is_of(&self, namespace: &str, types: &[&str]) -> bool {
        self.namespace().eq_ignore_ascii_case(namespace)
            && self.types().count() == types.len()
            && self
                .types()
                .zip(types)
                .all(|(a, b)| a.eq_ignore_ascii_case(b))
    }

    /// The spelling that it was made from.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The one spelling that all equal ids share: lower case. For map keys and lock names.
    #[must_use]
    pub fn folded(&self) -> String {
        self.text.to_ascii_lowercase()
    }
}

impl FromStr for ResourceId {
    type Err = NotAResourceId;

    fn from_str(text: &str) -> Result<Self, NotAResourceId> {
        let wrong = || NotAResourceId {
            text: abridge(text),
            expected: SHAPE,
        };
        let body = text.strip_suffix('/').unwrap_or(text);
        if !body.starts_with('/') || body.chars().any(char::is_control) {
            return Err(wrong());
        }
        let mut segments = Vec::with_capacity(8);
        let mut from = 1;
        for part in body[1..].split('/') {
            // An HTTP client would collapse dots into the address of another resource.
            if matches!(part, "" | "." | "..") {
                return Err(wrong());
            }
            let to = from + part.len();
            let span = u16::try_from(from).and_then(|from| {
                let to = u16::try_from(to)?;
                Ok(Span { from, to })
            });
            segments.push(span.map_err(|_| wrong())?);
            from = to + 1;
        }
        let is = |index: usize, word: &str| {
            segments
                .get(index)
                .is_some_and(|span| span.of(body).eq_ignore_ascii_case(word))
        };
        let fixed = is(0, "subscriptions") && is(2, "resourceGroups") && is(4, "providers");
        let paired = segments.len() > FIRST_TYPE + 1 && segments.len().is_multiple_of(2);
        if !fixed || !paired {
            return Err(wrong());
        }
        Ok(Self {
            text: body.into(),
            segments: segments.into(),
        })
    }
}

fn abridge(text: &str) -> String {
    const LIMIT: usize = 200;
    if text.chars().count() <= LIMIT {
        return text.escape_debug().to_string();
    }
    let head: String = text.chars().take(LIMIT).collect();
    format!("{}…", head.escape_debug())
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for ResourceId {
    fn eq(&self, other: &Self) -> bool {
        self.text.eq_ignore_ascii_case(&other.text)
    }
}

impl Eq for ResourceId {}

impl Hash for ResourceId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.text.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(0xff);
    }
}

impl PartialOrd for ResourceId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ResourceId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let fold = |id: &Self| {
            id.text
                .bytes()
                .map(|b| b.to_ascii_lowercase())
                .collect::<Vec<_>>()
        };
        fold(self).cmp(&fold(other))
    }
}

#[cfg(test)]
mod tests;
