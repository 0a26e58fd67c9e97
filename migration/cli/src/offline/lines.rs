//! Where a member of a block-style YAML document stands. Only indentation is looked at: what is nested
//! is indented deeper than its key, in every style.

/// The lines of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The line of its key.
    pub(super) start: usize,
    /// The line after its last one that says something.
    pub(super) end: usize,
    /// How far its key is indented.
    pub(super) indent: usize,
    /// Whether its first line also begins the list element that it stands in.
    pub(super) dashed: bool,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A member of a mapping.
    Key(String),
    /// An element of a list.
    Index(usize),
}

/// A document as lines.
#[derive(Clone, Debug)]
pub(super) struct Document {
    lines: Vec<String>,
    /// The line of the last dash that was taken for a space.
    dash: Option<usize>,
}

impl Document {
    pub(super) fn of(text: &str) -> Self {
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            dash: None,
        }
    }

    /// The place of a member; `None` if it cannot be told.
    pub(super) fn find(&self, path: &[Step]) -> Option<Place> {
        // On the way down the dash of an element becomes a space, so that its members line up.
        let mut work = self.clone();
        let mut range = (0, work.lines.len());
        let mut place = None;
        for step in path {
            let found = match step {
                Step::Key(key) => work.key(range, key)?,
                Step::Index(index) => work.element(range, *index)?,
            };
            range = match step {
                Step::Key(_) => (found.start + 1, found.end),
                Step::Index(_) => (found.start, found.end),
            };
            place = Some(found);
        }
        place
    }

    /// The indentation of the members of a place.
    pub(super) fn inner_indent(&self, place: Place) -> Option<usize> {
        self.first_indent((place.start + 1, place.end))
    }

    fn key(&self, range: (usize, usize), key: &str) -> Option<Place> {
        let indent = self.first_indent(range)?;
        let start = (range.0..range.1)
            .find(|line| self.indent(*line) == Some(indent) && is_key(&self.lines[*line], key))?;
        Some(self.block(start, range.1, indent))
    }

    fn element(&mut self, range: (usize, usize), index: usize) -> Option<Place> {
        let indent = self.first_indent(range)?;
        let starts: Vec<usize> = (range.0..range.1)
            .filter(|line| self.indent(*line) == Some(indent))
            .filter(|line| self.lines[*line].trim_start().starts_with("- "))
            .collect();
        let start = *starts.get(index)?;
        let end = starts.get(index + 1).copied().unwrap_or(range.1);
        self.lines[start].replace_range(indent..=indent, " ");
        self.dash = Some(start);
        Some(Place {
            start,
            end,
            indent: self.indent(start)?,
            dashed: true,
        })
    }

    /// From a key to the last line that belongs to it.
    fn block(&self, start: usize, limit: usize, indent: usize) -> Place {
        let mut end = start + 1;
        for line in start + 1..limit {
            let Some(found) = self.indent(line) else {
                continue;
            };
            let list = found == indent && self.lines[line].trim_start().starts_with("- ");
            if found <= indent && !list {
                break;
            }
            end = line + 1;
        }
        Place {
            start,
            end,
            indent,
            dashed: self.dash == Some(start),
        }
    }

    fn first_indent(&self, range: (usize, usize)) -> Option<usize> {
        (range.0..range.1).find_map(|line| self.indent(line))
    }

    /// How far a line is indented; `None` for one that says nothing.
    fn indent(&self, line: usize) -> Option<usize> {
        let text = self.lines.get(line)?;
        let rest = text.trim_start_matches(' ');
        let silent = rest.trim().is_empty() || rest.starts_with('#') || text.starts_with("---");
        (!silent).then(|| text.len() - rest.len())
    }
}

fn is_key(line: &str, key: &str) -> bool {
    let line = line.trim_start();
    [key.to_owned(), format!("{key:?}"), format!("'{key}'")]
        .iter()
        .any(|spelled| {
            line.strip_prefix(spelled.as_str())
                .and_then(|rest| rest.trim_start().strip_prefix(':'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        })
}
