//! Tables as kernels print them, and paths that no one should use but someone does.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{DevT, Table, escape, mount_of};

const SAMPLE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 8:32 / /var/lib/kubelet/plugins/with\\040space/globalmount rw,relatime shared:9 master:3 - xfs /dev/sdc rw,nouuid
41 22 8:32 / /pods/a ro,relatime - xfs /dev/sdc rw,nouuid
42 22 8:48 / /stack rw - ext4 /dev/sdd rw
43 42 8:64 /sub /stack rw - ext4 /dev/sde ro,errors=remount-ro
44 22 0:5 /sdc /publish rw - devtmpfs udev rw
45 22 0:60 / /empty rw - tmpfs  rw
";

#[test]
fn a_table_is_read_as_the_kernel_prints_it() {
    let table = Table::parse(SAMPLE.as_bytes()).unwrap();
    let staged = table
        .top(Path::new("/var/lib/kubelet/plugins/with space/globalmount"))
        .unwrap();
    assert_eq!(
        staged.device,
        DevT {
            major: 8,
            minor: 32
        }
    );
    assert_eq!(staged.fs_type, "xfs");
    assert!(!staged.is_read_only());
    assert!(table.top(Path::new("/pods/a")).unwrap().is_read_only());
    assert_eq!(
        table
            .of_device(DevT {
                major: 8,
                minor: 32
            })
            .len(),
        2
    );
}

#[test]
fn of_stacked_mounts_the_last_is_seen() {
    let table = Table::parse(SAMPLE.as_bytes()).unwrap();
    let stack = table.at(Path::new("/stack"));
    assert_eq!(stack.len(), 2);
    let top = table.top(Path::new("/stack")).unwrap();
    assert_eq!(top.source, Path::new("/dev/sde"));
    assert_eq!(top.root, Path::new("/sub"));
    assert!(top.is_shut_down(), "the kernel made it read-only");
}

#[test]
fn a_line_that_cannot_be_read_fails_the_table() {
    for line in [
        "1 2 3",
        "x 1 8:1 / / rw - ext4 /dev/a rw",
        "1 1 8:1 / / rw ext4 a rw",
    ] {
        assert!(Table::parse(line.as_bytes()).is_err(), "{line}");
    }
}

#[test]
fn the_table_of_this_machine_reads() {
    let table = super::MountTable::new(&crate::Roots::default())
        .read()
        .unwrap();
    assert!(table.top(Path::new("/")).is_some());
}

proptest! {
    #[test]
    fn any_path_survives_the_escapes(bytes in proptest::collection::vec(1_u8.., 1..40)) {
        use std::os::unix::ffi::OsStringExt;
        let path = PathBuf::from(std::ffi::OsString::from_vec([b"/".as_slice(), &bytes].concat()));
        let line = format!("1 2 8:1 / {} rw,ro - ext4 /dev/x rw", escape(&path));
        prop_assert_eq!(mount_of(line.as_bytes()).unwrap().point, path);
    }

    #[test]
    fn nonsense_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Table::parse(&bytes);
    }
}
