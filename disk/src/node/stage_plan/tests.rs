//! Tables: what is found, against what is done.

use azcsi_host::fsck::FsckPolicy;
use azcsi_host::mkfs::{Kernel, Overwrite};
use azcsi_host::probe::{Content, ExtState, Filesystem, FsKind};

use super::{AtStaging, Mounted, OnDevice, Rights, at_staging, on_device, without_recovery};
use crate::node::context::{OptIn, Origin};
use crate::node::identity::{IdentityCheck, Trust};

fn rights() -> Rights {
    Rights {
        trust: Trust::Proven,
        check: IdentityCheck::Strict,
        origin: Origin::Empty,
        opt_in: OptIn::None,
        read_only: false,
        is_partition: false,
        is_unfinished: false,
    }
}

fn filesystem(kind: FsKind, ext: Option<ExtState>) -> Content {
    Content::Filesystem(Filesystem {
        kind,
        uuid: String::new(),
        bytes: 1,
        ext,
    })
}

const DIRTY: ExtState = ExtState {
    is_clean: false,
    has_errors: false,
    needs_replay: false,
};

fn decide(content: &Content, rights: &Rights) -> OnDevice {
    on_device(content, FsKind::Ext4, rights, FsckPolicy::Auto)
}

#[test]
fn a_free_path_is_mounted_and_a_taken_one_compared() {
    let good = Mounted {
        is_device: true,
        is_alive: true,
        is_filesystem: true,
        is_mode: true,
    };
    assert_eq!(at_staging(None), AtStaging::Mount);
    assert_eq!(at_staging(Some(good)), AtStaging::Staged);
    let dead = Mounted {
        is_alive: false,
        is_device: false,
        ..good
    };
    assert_eq!(at_staging(Some(dead)), AtStaging::CleanUp);
    for other in [
        Mounted {
            is_device: false,
            ..good
        },
        Mounted {
            is_filesystem: false,
            ..good
        },
        Mounted {
            is_mode: false,
            ..good
        },
    ] {
        assert!(
            matches!(at_staging(Some(other)), AtStaging::Refuse(_)),
            "{other:?}"
        );
    }
}

#[test]
fn only_a_proven_blank_disk_that_was_made_empty_is_formatted() {
    assert_eq!(
        decide(&Content::Blank, &rights()),
        OnDevice::Format(Overwrite::Nothing)
    );
    let changes: [fn(&mut Rights); 6] = [
        |r| r.trust = Trust::Known,
        |r| r.trust = Trust::Unproven,
        |r| r.read_only = true,
        |r| r.is_partition = true,
        |r| r.origin = Origin::Filled,
        |r| r.origin = Origin::Unknown,
    ];
    for change in changes {
        let mut rights = rights();
        change(&mut rights);
        assert!(
            matches!(decide(&Content::Blank, &rights), OnDevice::Refuse(_)),
            "{rights:?}"
        );
    }
}

#[test]
fn the_owner_may_allow_what_is_not_known_but_never_what_is() {
    let mut rights = rights();
    rights.origin = Origin::Unknown;
    rights.opt_in = OptIn::Blank;
    assert!(matches!(
        decide(&Content::Blank, &rights),
        OnDevice::Format(_)
    ));
    assert!(matches!(
        decide(&Content::Data { offset: 0 }, &rights),
        OnDevice::Refuse(_)
    ));
    rights.opt_in = OptIn::NonBlank;
    assert!(matches!(
        decide(&Content::Data { offset: 0 }, &rights),
        OnDevice::Format(_)
    ));
    let other = Content::Other(vec!["LUKS".to_owned()]);
    assert!(matches!(decide(&other, &rights), OnDevice::Refuse(_)));
    let xfs = filesystem(FsKind::Xfs, None);
    assert!(matches!(decide(&xfs, &rights), OnDevice::Refuse(_)));
    rights.origin = Origin::Filled;
    for copy in [Content::Blank, Content::Data { offset: 0 }] {
        let decided = decide(&copy, &rights);
        assert!(matches!(decided, OnDevice::Refuse(_)), "a copy: {copy:?}");
    }
}

#[test]
fn a_journal_is_left_alone_in_each_filesystem_s_own_word() {
    let new = Kernel(6, 1);
    for (kind, kernel, option) in [
        (FsKind::Ext2, new, None),
        (FsKind::Ext3, new, Some("noload")),
        (FsKind::Ext4, new, Some("noload")),
        (FsKind::Xfs, new, Some("norecovery")),
        (FsKind::Btrfs, new, Some("rescue=nologreplay")),
        (FsKind::Btrfs, Kernel(5, 4), Some("nologreplay")),
    ] {
        assert_eq!(without_recovery(kind, kernel), option, "{kind}");
    }
}

#[test]
fn volumes_of_older_drivers_are_formatted_when_blank_in_compat_only() {
    let mut rights = rights();
    rights.origin = Origin::Unknown;
    rights.check = IdentityCheck::Compat;
    assert!(matches!(
        decide(&Content::Blank, &rights),
        OnDevice::Format(_)
    ));
    assert!(matches!(
        decide(&Content::Data { offset: 9 }, &rights),
        OnDevice::Refuse(_)
    ));
}

#[test]
fn an_interrupted_format_is_done_again_but_a_filesystem_is_never_overwritten() {
    let mut rights = rights();
    rights.is_unfinished = true;
    let unfinished = Content::Other(vec!["an unfinished xfs".to_owned()]);
    for content in [Content::Data { offset: 0 }, unfinished.clone()] {
        assert_eq!(
            decide(&content, &rights),
            OnDevice::Format(Overwrite::Unfinished)
        );
    }
    let done = filesystem(
        FsKind::Ext4,
        Some(ExtState {
            is_clean: true,
            ..DIRTY
        }),
    );
    assert_eq!(decide(&done, &rights), OnDevice::Mount { check: true });
    rights.is_unfinished = false;
    assert!(matches!(decide(&unfinished, &rights), OnDevice::Refuse(_)));
}

#[test]
fn a_filesystem_is_checked_when_it_says_so_and_may_be_written() {
    let dirty = filesystem(FsKind::Ext4, Some(DIRTY));
    assert_eq!(decide(&dirty, &rights()), OnDevice::Mount { check: true });
    let read_only = Rights {
        read_only: true,
        ..rights()
    };
    assert_eq!(decide(&dirty, &read_only), OnDevice::Mount { check: false });
    let never = on_device(&dirty, FsKind::Ext4, &rights(), FsckPolicy::Never);
    assert_eq!(never, OnDevice::Mount { check: false });
    let xfs = on_device(
        &filesystem(FsKind::Xfs, None),
        FsKind::Xfs,
        &rights(),
        FsckPolicy::Always,
    );
    assert_eq!(xfs, OnDevice::Mount { check: false });
}
