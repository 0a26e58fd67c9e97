//! The file form of a credential cache: format version 4 of MIT Kerberos ("Credential cache file
//! format" in its documentation). Everything is big-endian.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::Path;

use azcsi_types::secret::Secret;

use super::{Principal, Ticket, hidden};
use crate::error::HostError;

/// Writes a cache that only its owner can read. Whoever reads it meanwhile sees the old one or the
/// new one.
///
/// # Errors
/// When it cannot be written, or given to its owner.
pub fn write_cache(path: &Path, owner: u32, tickets: &[Ticket]) -> Result<(), HostError> {
    let fail = |source| HostError::io("write the ticket cache", path, source);
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(fail)?;
    let temporary = path.with_extension("tmp");
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(fail)?;
    let written = fchown(&file, Some(owner), None)
        .and_then(|()| file.write_all(bytes(tickets).as_bytes()))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(fail(error));
    }
    Ok(())
}

/// The content of the file.
pub(super) fn bytes(tickets: &[Ticket]) -> Secret {
    let mut out = Vec::with_capacity(8192);
    out.extend([5, 4]);
    // One header field: the offset of the server's clock, which is none.
    out.extend(12_u16.to_be_bytes());
    out.extend([0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    if let Some(first) = tickets.first() {
        principal(&mut out, &first.client);
    }
    for ticket in tickets {
        principal(&mut out, &ticket.client);
        principal(&mut out, &ticket.server);
        out.extend(ticket.key_type.to_be_bytes());
        text(&mut out, &ticket.key);
        for time in [ticket.granted, ticket.begins, ticket.ends, ticket.renewable] {
            out.extend(time.to_be_bytes());
        }
        // No key of another ticket.
        out.push(0);
        out.extend(ticket.flags.to_be_bytes());
        // No addresses, no authorisation data.
        out.extend([0; 8]);
        text(&mut out, &ticket.encoded);
        text(&mut out, &[]);
    }
    let secret = hidden(&out);
    out.fill(0);
    std::hint::black_box(&out);
    secret
}

fn principal(out: &mut Vec<u8>, name: &Principal) {
    out.extend(name.kind.to_be_bytes());
    let count = u32::try_from(name.parts.len()).unwrap_or(0);
    out.extend(count.to_be_bytes());
    text(out, name.realm.as_bytes());
    for part in &name.parts {
        text(out, part.as_bytes());
    }
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(0);
    out.extend(length.to_be_bytes());
    out.extend(bytes);
}
