//! Who has a simulated disk mounted, from `/proc/self/mountinfo`.

use std::fs;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, umount2};

use super::LinkError;

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// One line of mountinfo, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number of the filesystem.
    pub device: (u64, u64),
    /// What part of the filesystem is mounted; the file itself for a bind mount of a device node.
    pub root: String,
    /// Where.
    pub point: PathBuf,
    /// What was named as the source.
    pub source: String,
}

/// All mounts this process sees.
///
/// # Errors
/// When the kernel's table cannot be read.
pub fn all() -> Result<Vec<Mount>, LinkError> {
    let path = Path::new(MOUNTINFO);
    let text = fs::read_to_string(path).map_err(|e| LinkError::io("read", path, e))?;
    Ok(text.lines().filter_map(parse).collect())
}

/// Whether `mount` shows the device itself or a bind mount of the node `node_path`.
#[must_use]
pub fn uses(mount: &Mount, device: (u64, u64), node_path: &Path) -> bool {
    mount.device == device || is_bind_of(mount, node_path)
}

/// Whether `mount` came through this node path; tells two nodes with one device apart.
#[must_use]
pub fn came_through(mount: &Mount, node_path: &Path) -> bool {
    Path::new(&mount.source) == node_path || is_bind_of(mount, node_path)
}

/// Takes every one of these mounts away, newest first. Lazy, so that it cannot hang on a busy one.
pub fn detach_all<'a>(mounts: impl DoubleEndedIterator<Item = &'a Mount>) {
    for mount in mounts.rev() {
        if let Err(errno) = umount2(&mount.point, MntFlags::MNT_DETACH) {
            tracing::warn!(path = %mount.point.display(), %errno, "a mount of a simulated disk stays");
        }
    }
}

/// The root of a bind mount is a path inside its filesystem, so it is a tail of the node's path.
fn is_bind_of(mount: &Mount, node_path: &Path) -> bool {
    let tail = mount.root.trim_start_matches('/');
    !tail.is_empty() && node_path.ends_with(tail)
}

fn parse(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut fields = left.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let root = unescape(fields.next()?);
    let point = PathBuf::from(unescape(fields.next()?));
    let source = unescape(right.split(' ').nth(1)?);
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root,
        point,
        source,
    })
}

/// mountinfo writes blanks, tabs, newlines and backslashes as three octal digits.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let code = after
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(byte) => {
                out.push(char::from(byte));
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "36 35 7:3 / /mnt/a\\040b rw,noatime shared:1 - ext4 /s/nodes/n1/dev/loop3 rw";
    const BIND: &str = "40 35 254:0 /s/nodes/n1/dev/loop3 /pods/x rw - ext4 /dev/vda rw";

    #[test]
    fn a_mount_is_known_by_its_device_number() {
        let mount = parse(LINE).expect("parse");
        assert_eq!(mount.point, Path::new("/mnt/a b"));
        assert!(uses(&mount, (7, 3), Path::new("/s/nodes/n1/dev/loop3")));
        assert!(!uses(&mount, (7, 4), Path::new("/s/nodes/n1/dev/loop4")));
        assert!(came_through(&mount, Path::new("/s/nodes/n1/dev/loop3")));
        assert!(!came_through(&mount, Path::new("/s/nodes/n2/dev/loop3")));
    }

    #[test]
    fn a_published_raw_block_device_counts_as_mounted() {
        let mount = parse(BIND).expect("parse");
        assert!(uses(&mount, (7, 3), Path::new("/s/nodes/n1/dev/loop3")));
        assert!(!uses(&mount, (7, 3), Path::new("/s/nodes/n2/dev/loop3")));
    }

    #[test]
    fn a_root_mount_is_not_a_bind_of_everything() {
        let mount = parse("22 1 254:0 / / rw - ext4 /dev/vda rw").expect("parse");
        assert!(!uses(&mount, (7, 3), Path::new("/s/nodes/n1/dev/loop3")));
    }
}
