//! Go's flag forms, turned into what clap reads.
//!
//! The charts of the drivers that ours replace pass flags as Go reads them: one dash or two,
//! `-v=5`, `-v 5`, bare booleans, `--flag=T`. They also pass flags that mean nothing here any more;
//! those are accepted and reported once.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::Command;

/// How a flag takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Alone it means true; a value follows only after `=`.
    Bool,
    /// The value follows after `=` or as the next argument.
    Value,
}

/// A flag that is accepted and has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// The flag without dashes.
    pub name: &'static str,
    /// How it takes its value.
    pub form: Form,
    /// Why it has no effect, as a sentence.
    pub why: &'static str,
}

/// The flags of Go's logging library, which every driver that ours replace takes. Only `-v` has a
/// meaning here.
pub const KLOG: [Retired; 12] = {
    const WHY: &str = "all logs go to standard error.";
    const fn retired(name: &'static str, form: Form) -> Retired {
        Retired {
            name,
            form,
            why: WHY,
        }
    }
    [
        retired("add_dir_header", Form::Bool),
        retired("alsologtostderr", Form::Bool),
        retired("log_backtrace_at", Form::Value),
        retired("log_dir", Form::Value),
        retired("log_file", Form::Value),
        retired("log_file_max_size", Form::Value),
        retired("logtostderr", Form::Bool),
        retired("one_output", Form::Bool),
        retired("skip_headers", Form::Bool),
        retired("skip_log_headers", Form::Bool),
        retired("stderrthreshold", Form::Value),
        retired("vmodule", Form::Value),
    ]
};

/// Arguments in clap's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalised {
    /// What clap should parse, the program's name included.
    pub args: Vec<OsString>,
    /// One sentence for each retired flag that was given; to be logged once logging works.
    pub warnings: Vec<String>,
}

/// Makes a command read its flags as Go does: a flag that is given twice takes the last value.
#[must_use]
pub fn go_style(command: Command) -> Command {
    command.args_override_self(true)
}

/// Rewrites `args` (with the program's name) for `command`. Flags that neither the command nor one
/// of its subcommands knows, nor `retired`, are left as they are: clap reports them.
#[must_use]
pub fn normalise(
    command: &Command,
    retired: &[Retired],
    args: impl IntoIterator<Item = OsString>,
) -> Normalised {
    let known = forms(command);
    let mut args = args.into_iter();
    let mut out: Vec<OsString> = args.next().into_iter().collect();
    let mut warned = BTreeSet::new();
    let mut warnings = Vec::new();
    while let Some(arg) = args.next() {
        let Some(flag) = Flag::read(&arg) else {
            let rest = arg == "--";
            out.push(arg);
            if rest {
                out.extend(args.by_ref());
            }
            continue;
        };
        let retired = retired.iter().find(|retired| retired.name == flag.name);
        let form = known
            .get(&flag.name)
            .copied()
            .or(retired.map(|retired| retired.form));
        let Some(form) = form else {
            out.push(arg);
            continue;
        };
        let value = match (flag.value, form) {
            (Some(value), Form::Bool) => Some(go_bool(value)),
            (Some(value), Form::Value) => Some(value),
            (None, Form::Bool) => Some("true".into()),
            (None, Form::Value) => args.next(),
        };
        match retired {
            Some(retired) if !known.contains_key(&flag.name) => {
                if warned.insert(retired.name) {
                    warnings.push(format!("--{} has no effect: {}", retired.name, retired.why));
                }
            }
            _ => out.push(joined(&flag.name, value)),
        }
    }
    Normalised {
        args: out,
        warnings,
    }
}

struct Flag {
    name: String,
    value: Option<OsString>,
}

impl Flag {
    /// Reads `-name`, `--name`, `-name=value` or `--name=value`.
    fn read(arg: &OsString) -> Option<Self> {
        // A flag that is not UTF-8 is none of ours.
        let text = arg.to_str()?;
        let body = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
        if body.is_empty() || body.starts_with(['-', '=']) {
            return None;
        }
        Some(match body.split_once('=') {
            Some((name, value)) => Self {
                name: name.to_owned(),
                value: Some(value.into()),
            },
            None => Self {
                name: body.to_owned(),
                value: None,
            },
        })
    }
}

fn joined(name: &str, value: Option<OsString>) -> OsString {
    let mut arg = OsString::from(format!("--{name}"));
    if let Some(value) = value {
        arg.push("=");
        arg.push(value);
    }
    arg
}

/// The spellings of a boolean that Go takes (`strconv.ParseBool`); others are left for clap to
/// refuse.
fn go_bool(value: OsString) -> OsString {
    match value.to_str() {
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => "true".into(),
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => "false".into(),
        Some(_) | None => value,
    }
}

/// The flags of a command and its subcommands.
fn forms(command: &Command) -> BTreeMap<String, Form> {
    let mut forms = BTreeMap::new();
    let mut add = |command: &Command| {
        for arg in command.get_arguments() {
            let is_bool = arg.get_value_parser().type_id() == TypeId::of::<bool>();
            let form = if is_bool { Form::Bool } else { Form::Value };
            let names = arg.get_long_and_visible_aliases().unwrap_or_default();
            let hidden = arg.get_aliases().unwrap_or_default();
            for name in names.into_iter().chain(hidden) {
                forms.insert(name.to_owned(), form);
            }
        }
    };
    add(command);
    command.get_subcommands().for_each(&mut add);
    forms
}

#[cfg(test)]
mod tests;
