//! A document edited so that it says something else, line by line.

use serde_json::{Map, Value};

use super::lines::{Document, Place, Step};
use crate::output::yaml;

/// One change of the text: these lines give way to those.
#[derive(Debug)]
struct Change {
    place: (usize, usize),
    text: Vec<String>,
}

/// The text with the changes from `old` to `new`; `None` where that cannot be done in place.
pub(super) fn applied(text: &str, old: &Value, new: &Value) -> Option<String> {
    let mut editor = Editor {
        source: text.lines().collect(),
        document: Document::of(text),
        changes: Vec::new(),
    };
    editor.mapping(&mut Vec::new(), old.as_object()?, new.as_object()?)?;
    Some(editor.finish())
}

struct Editor<'a> {
    source: Vec<&'a str>,
    document: Document,
    changes: Vec<Change>,
}

impl Editor<'_> {
    fn mapping(
        &mut self,
        path: &mut Vec<Step>,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Option<()> {
        let gone = old.keys().filter(|key| !new.contains_key(*key));
        let mut gone: Vec<(Place, &String)> = gone
            .map(|key| Some((self.find(path, key)?, key)))
            .collect::<Option<_>>()?;
        gone.sort_by_key(|(place, _)| place.start);
        let mut come: Vec<(&String, &Value)> = new
            .iter()
            .filter(|(key, _)| !old.contains_key(*key))
            .collect();
        // A member that only gets another name stays where it is; the rest of what comes takes the
        // places of the rest of what goes.
        let mut pairs = Vec::new();
        for (place, key) in &gone {
            let same = come
                .iter()
                .position(|(_, value)| Some(*value) == old.get(*key));
            pairs.push((*place, same.map(|at| come.remove(at))));
        }
        for (place, pair) in pairs {
            let pair = pair.or_else(|| (!come.is_empty()).then(|| come.remove(0)));
            let text = match pair {
                Some((key, value)) => self.instead(place, rendered(key, value, place.indent)?),
                None => Vec::new(),
            };
            self.change(place, text)?;
        }
        if !come.is_empty() {
            self.append(path, &come)?;
        }
        for (key, before) in old {
            if let Some(after) = new.get(key).filter(|after| *after != before) {
                self.value(path, key, before, after)?;
            }
        }
        Some(())
    }

    fn value(
        &mut self,
        path: &mut Vec<Step>,
        key: &str,
        before: &Value,
        after: &Value,
    ) -> Option<()> {
        path.push(Step::Key(key.to_owned()));
        let done = match (before, after) {
            (Value::Object(before), Value::Object(after))
                if !before.is_empty() && !after.is_empty() =>
            {
                self.mapping(path, before, after)
            }
            (Value::Array(before), Value::Array(after))
                if before.len() == after.len() && key == "items" =>
            {
                self.elements(path, before, after)
            }
            _ => self.replaced(path, key, after),
        };
        path.pop();
        done
    }

    fn elements(&mut self, path: &mut Vec<Step>, old: &[Value], new: &[Value]) -> Option<()> {
        for (index, (before, after)) in old.iter().zip(new).enumerate() {
            if before == after {
                continue;
            }
            path.push(Step::Index(index));
            self.mapping(path, before.as_object()?, after.as_object()?)?;
            path.pop();
        }
        Some(())
    }

    fn replaced(&mut self, path: &[Step], key: &str, after: &Value) -> Option<()> {
        let place = self.document.find(path)?;
        let text = self.instead(place, rendered(key, after, place.indent)?);
        self.change(place, text)
    }

    /// New lines with the comments of those that they stand in for. The remark behind a single line
    /// stays behind it.
    fn instead(&self, place: Place, mut text: Vec<String>) -> Vec<String> {
        if let ([line], true) = (&mut text[..], place.end == place.start + 1)
            && let Some(remark) = remark(self.source[place.start])
        {
            line.push_str(&format!("  {remark}"));
            return text;
        }
        let mut with = self.comments(place);
        with.append(&mut text);
        with
    }

    /// Members after the last one of their mapping.
    fn append(&mut self, path: &[Step], members: &[(&String, &Value)]) -> Option<()> {
        let (at, indent) = if path.is_empty() {
            let said = |line: &&str| {
                let line = line.trim();
                !line.is_empty() && !line.starts_with('#') && line != "---"
            };
            (self.source.iter().rposition(said)? + 1, 0)
        } else {
            let place = self.document.find(path)?;
            let indent = match path.last()? {
                Step::Key(_) => self.document.inner_indent(place)?,
                Step::Index(_) => place.indent,
            };
            (place.end, indent)
        };
        let mut text = Vec::new();
        for (key, value) in members {
            text.extend(rendered(key, value, indent)?);
        }
        self.changes.push(Change {
            place: (at, at),
            text,
        });
        Some(())
    }

    fn find(&mut self, path: &mut Vec<Step>, key: &str) -> Option<Place> {
        path.push(Step::Key(key.to_owned()));
        let place = self.document.find(path);
        path.pop();
        place
    }

    fn change(&mut self, place: Place, text: Vec<String>) -> Option<()> {
        // The dash of a list element would go with the line.
        if place.dashed {
            return None;
        }
        self.changes.push(Change {
            place: (place.start, place.end),
            text,
        });
        Some(())
    }

    /// The comments among lines that give way, indented as their key.
    fn comments(&self, place: Place) -> Vec<String> {
        let lines = &self.source[place.start..place.end];
        let found = lines.iter().filter_map(|line| match line.trim_start() {
            whole if whole.starts_with('#') => Some(whole),
            _ => remark(line),
        });
        found
            .map(|comment| format!("{}{comment}", " ".repeat(place.indent)))
            .collect()
    }

    fn finish(mut self) -> String {
        self.changes.sort_by_key(|change| change.place);
        let mut lines: Vec<String> = Vec::new();
        let mut at = 0;
        for change in self.changes {
            let (start, end) = change.place;
            lines.extend(
                self.source[at.min(start)..start]
                    .iter()
                    .map(|line| (*line).to_owned()),
            );
            lines.extend(change.text);
            at = end.max(at);
        }
        lines.extend(self.source[at..].iter().map(|line| (*line).to_owned()));
        lines.join("\n") + "\n"
    }
}

/// The remark at the end of a line. With quotes in it a line may only look as if it had one.
fn remark(line: &str) -> Option<&str> {
    let at = line.find(" #")?;
    let quoted = line.contains(['"', '\'']);
    (!quoted).then(|| line[at + 1..].trim_end())
}

fn rendered(key: &str, value: &Value, indent: usize) -> Option<Vec<String>> {
    let mut member = Map::new();
    member.insert(key.to_owned(), value.clone());
    let text = yaml(&Value::Object(member)).ok()?;
    let lines = text.lines().filter(|line| *line != "---");
    Some(
        lines
            .map(|line| format!("{}{line}", " ".repeat(indent)))
            .collect(),
    )
}
