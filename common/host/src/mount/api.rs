//! The kernel's newer mount calls, with which a bind is read-only from its first moment
//! (`open_tree(2)`, `mount_setattr(2)`, `move_mount(2)`; kernel 5.12).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::libc;

const OPEN_TREE_CLONE: u32 = 1;
const OPEN_TREE_CLOEXEC: u32 = 0o2_000_000;
const MOVE_MOUNT_F_EMPTY_PATH: u32 = 4;
const MOUNT_ATTR_RDONLY: u64 = 1;
const AT_EMPTY_PATH: u32 = 0x1000;

#[repr(C)]
#[derive(Debug)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

/// Binds `source` to `target` read-only, in one step as seen from outside.
///
/// # Errors
/// `ENOSYS` (or `EPERM` under some filters of system calls) when the kernel does not have the calls.
pub(super) fn bind_read_only(source: &Path, target: &Path) -> io::Result<()> {
    let tree = open_tree(source)?;
    set_read_only(&tree)?;
    move_to(&tree, target)
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

#[expect(unsafe_code, reason = "the C library has no wrapper for open_tree")]
fn open_tree(source: &Path) -> io::Result<OwnedFd> {
    let path = c_path(source)?;
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    // SAFETY: the path is a C string that lives until the call returns; the rest are numbers.
    let fd = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just given this descriptor to us, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[expect(unsafe_code, reason = "the C library has no wrapper for mount_setattr")]
fn set_read_only(tree: &OwnedFd) -> io::Result<()> {
    let attr = MountAttr {
        set: MOUNT_ATTR_RDONLY,
        clear: 0,
        propagation: 0,
        userns: 0,
    };
    // SAFETY: the descriptor is open, the path is an empty C string, and the structure has the
    // kernel's layout and the size that is passed; all live until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            AT_EMPTY_PATH,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[expect(unsafe_code, reason = "the C library has no wrapper for move_mount")]
fn move_to(tree: &OwnedFd, target: &Path) -> io::Result<()> {
    let path = c_path(target)?;
    // SAFETY: the descriptor is open and both paths are C strings that live until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
