//! The little XML that the data plane writes and reads.

/// An element with children or a text.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    name: String,
    attributes: String,
    inside: String,
}

impl Element {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            attributes: String::new(),
            inside: String::new(),
        }
    }

    pub(crate) fn attribute(mut self, name: &str, value: &str) -> Self {
        self.attributes
            .push_str(&format!(" {name}=\"{}\"", escape(value)));
        self
    }

    pub(crate) fn child(mut self, child: &Self) -> Self {
        self.inside.push_str(&child.write());
        self
    }

    /// A child with a text.
    pub(crate) fn text(mut self, name: &str, text: &str) -> Self {
        self.inside
            .push_str(&format!("<{name}>{}</{name}>", escape(text)));
        self
    }

    /// The same when there is one.
    pub(crate) fn optional(self, name: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    fn write(&self) -> String {
        let Self {
            name,
            attributes,
            inside,
        } = self;
        if inside.is_empty() {
            return format!("<{name}{attributes} />");
        }
        format!("<{name}{attributes}>{inside}</{name}>")
    }

    /// The whole document.
    pub(crate) fn document(&self) -> String {
        format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>{}", self.write())
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

/// The insides of every element of this name, from the outermost on.
pub(crate) fn all<'a>(document: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest = document;
    while let Some(at) = rest.find(&open) {
        rest = rest.get(at + open.len()..).unwrap_or_default();
        if !rest.starts_with(['>', ' ', '/']) {
            continue;
        }
        let Some(end) = rest.find('>') else { break };
        if rest.get(..end).is_some_and(|tag| tag.ends_with('/')) {
            found.push("");
            continue;
        }
        rest = rest.get(end + 1..).unwrap_or_default();
        let Some(end) = rest.find(&close) else { break };
        found.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(end + close.len()..).unwrap_or_default();
    }
    found
}

/// The text of the first element of this name.
pub(crate) fn text(document: &str, name: &str) -> Option<String> {
    all(document, name)
        .first()
        .map(|text| unescape(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let document = Element::new("List")
            .attribute("Where", "a\"b")
            .child(&Element::new("Item").text("Name", "a<b>&c"))
            .child(&Element::new("Item"))
            .document();
        let items = all(&document, "Item");
        assert_eq!(items.len(), 2);
        assert_eq!(text(&document, "Name"), Some("a<b>&c".to_owned()));
        assert_eq!(text(&document, "Missing"), None);
        assert!(document.contains("<List Where=\"a&quot;b\">"));
    }
}
