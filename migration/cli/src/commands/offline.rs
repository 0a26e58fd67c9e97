//! `offline`: manifests on disk, without a cluster.

use std::io::Read as _;

use super::Report;
use crate::args::Offline;
use crate::engine::Tell;
use crate::failure::{Exit, Failure};
use crate::offline::{Converted, convert};
use crate::verdict::Wishes;

pub(super) fn run(args: &Offline, tell: &Tell) -> Result<Report, Failure> {
    let wishes = Wishes {
        assume_fs_type: args.assume_fstype.clone(),
        tame_cache: args.rw_cache_to_readonly,
    };
    let (mut text, mut changed, mut blocked) = (String::new(), 0, 0);
    let mut note = |name: &str, converted: &Converted| {
        for line in &converted.notes {
            tell(&format!("{name}: {line}"));
        }
        changed += converted.changed;
        blocked += converted.blocked;
    };
    if args.files.is_empty() {
        let mut content = String::new();
        std::io::stdin()
            .read_to_string(&mut content)
            .map_err(|source| Failure::File {
                what: "read",
                path: "standard input".to_owned(),
                source,
            })?;
        let converted = convert(&content, &wishes)?;
        note("standard input", &converted);
        text.push_str(&converted.text);
    }
    for path in &args.files {
        let content =
            std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
        let converted = convert(&content, &wishes)?;
        note(&path.display().to_string(), &converted);
        if args.write {
            if converted.text != content {
                std::fs::write(path, &converted.text)
                    .map_err(|error| Failure::file("write", path, error))?;
            }
        } else {
            text.push_str(&converted.text);
        }
    }
    tell(&format!("{changed} converted, {blocked} blocked"));
    let exit = if blocked == 0 {
        Exit::Done
    } else {
        Exit::Blocked
    };
    Ok(Report { text, exit })
}
