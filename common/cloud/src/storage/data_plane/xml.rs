//! Answers of the file service, which are XML.
//!
//! They are read into a small tree, so that members may come in any order, be missing, or be ones
//! that this suite does not know.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// An element with its text and its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The text is percent-encoded, because XML could not hold it.
    pub(crate) encoded: bool,
    pub(crate) children: Vec<Self>,
}

/// Why a body is not understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum XmlError {
    /// It is not XML.
    #[error("the answer is not XML")]
    Syntax(#[from] quick_xml::Error),
    /// It is not text.
    #[error("the answer is not text")]
    Text(#[from] std::str::Utf8Error),
    /// It ends too early, or nests too deeply.
    #[error("the answer is {0}")]
    Shape(&'static str),
}

/// Deeper than every answer of the service.
const DEPTH_LIMIT: usize = 32;

/// Reads a whole document.
pub(crate) fn parse(body: &[u8]) -> Result<Element, XmlError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut reader = Reader::from_str(std::str::from_utf8(body)?);
    let mut open: Vec<Element> = vec![Element::default()];
    loop {
        let event = reader.read_event()?;
        match event {
            Event::Start(start) => {
                if open.len() > DEPTH_LIMIT {
                    return Err(XmlError::Shape("nested too deeply"));
                }
                open.push(element(&start));
            }
            Event::Empty(start) => attach(&mut open, element(&start)),
            Event::End(_) => {
                let done = open.pop().unwrap_or_default();
                attach(&mut open, done);
            }
            Event::Text(text) => add(&mut open, &text),
            Event::CData(text) => add(&mut open, &text),
            Event::GeneralRef(name) => {
                let character = name.resolve_char_ref().ok().flatten();
                let resolved = match character {
                    Some(character) => character.to_string(),
                    None => named(&name).to_owned(),
                };
                add(&mut open, &resolved);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match (open.len(), open.pop().map(|top| top.children)) {
        (1, Some(mut roots)) if roots.len() == 1 => Ok(roots.remove(0)),
        _ => Err(XmlError::Shape("not one whole document")),
    }
}

fn named(entity: &str) -> &'static str {
    match entity {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

fn element(start: &BytesStart<'_>) -> Element {
    let name = start.local_name().as_ref().to_owned();
    let marked = start.try_get_attribute("Encoded").ok().flatten();
    let encoded = marked.is_some_and(|mark| mark.value.eq_ignore_ascii_case("true"));
    Element {
        name,
        encoded,
        ..Element::default()
    }
}

fn add(open: &mut [Element], text: &str) {
    if let Some(current) = open.last_mut() {
        current.text.push_str(text);
    }
}

fn attach(open: &mut [Element], child: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(child);
    }
}

impl Element {
    /// The first child of a name, whatever its case.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        let mut children = self.children.iter();
        children.find(|child| child.name.eq_ignore_ascii_case(name))
    }

    /// Every child of a name, whatever its case.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        let children = self.children.iter();
        children.filter(move |child| child.name.eq_ignore_ascii_case(name))
    }

    /// The text of a child; `None` if the child is missing or empty.
    pub(crate) fn text_of(&self, name: &str) -> Option<String> {
        let text = self.child(name)?.value();
        (!text.is_empty()).then_some(text)
    }

    /// A child's text as a number or another value.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text_of(name)?.trim().parse().ok()
    }

    /// Its own text, decoded if it says that it is encoded. Space around it counts: names may have
    /// some.
    pub(crate) fn value(&self) -> String {
        if self.encoded {
            percent_encoding::percent_decode_str(&self.text)
                .decode_utf8_lossy()
                .into_owned()
        } else {
            self.text.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{XmlError, parse};
    use proptest::prelude::*;

    #[test]
    fn escapes_encodings_and_empty_elements_are_read() {
        let body = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<R a=\"1\"><!-- x --><Name Encoded=\"true\">a%0Ab</Name><T> &lt;b&gt; &#228;&#x41;&amp;&quot; <![CDATA[<c>]]></T><E/></R>";
        let root = parse(body.as_bytes()).unwrap();
        assert_eq!(root.text_of("name").unwrap(), "a\nb");
        assert_eq!(root.text_of("T").unwrap(), " <b> äA&\" <c>");
        assert!(root.child("E").is_some());
        assert_eq!(root.text_of("E"), None);
    }

    #[test]
    fn what_is_not_a_document_is_an_error() {
        for body in ["", "text", "<a>", "<a></b>", "<a/><b/>", "{\"a\":1}"] {
            assert!(parse(body.as_bytes()).is_err(), "{body}");
        }
        let deep = format!("{}{}", "<a>".repeat(1000), "</a>".repeat(1000));
        assert!(matches!(parse(deep.as_bytes()), Err(XmlError::Shape(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&body);
        }

        #[test]
        fn no_markup_makes_it_panic(body in "[<>/&;#xA-C!\\[\\]\\-?\"' ]{0,120}") {
            let _ = parse(body.as_bytes());
        }
    }
}
