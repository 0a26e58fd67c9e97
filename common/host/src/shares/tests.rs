//! What reaches the kernel, and what does not reach anybody else.

use std::path::PathBuf;

use azcsi_types::secret::Secret;

use super::{KernelShares, Login, ShareKind, ShareMount, ShareMounter, data, is_same, relative};
use crate::mount::MountOptions;
use crate::mountinfo::Table;
use crate::worker::tests_support::RealClock;

const KEY: &str = "bWFya2Vy,aaa==";

fn wanted(kind: ShareKind, login: Login) -> ShareMount {
    ShareMount {
        kind,
        source: "//acct.file.core.windows.net/share".to_owned(),
        address: "10.0.0.4".parse().unwrap(),
        target: PathBuf::from("/t"),
        options: MountOptions::default(),
        login,
    }
}

#[test]
fn the_login_comes_last_and_a_comma_in_a_password_is_doubled() {
    let login = Login::Password {
        user: "acct".to_owned(),
        password: Secret::new(KEY),
    };
    let text = data(&wanted(ShareKind::Cifs, login), "dir_mode=0777,pass=other");
    assert_eq!(
        text.expose(),
        "ip=10.0.0.4,dir_mode=0777,pass=other,user=acct,pass=bWFya2Vy,,aaa=="
    );
}

#[test]
fn a_ticket_is_named_by_the_owner_of_its_cache() {
    let login = Login::Ticket {
        owner: 7,
        user: Some("id".to_owned()),
    };
    let text = data(&wanted(ShareKind::Cifs, login), "");
    let expected = "ip=10.0.0.4,sec=krb5,cruid=7,upcall_target=mount,user=id";
    assert_eq!(text.expose(), expected);
    let text = data(&wanted(ShareKind::Nfs, Login::None), "vers=4");
    assert_eq!(text.expose(), "vers=4,addr=10.0.0.4");
}

#[test]
fn nothing_shows_a_password() {
    let login = |password: &str| Login::Password {
        user: "acct".to_owned(),
        password: Secret::new(password),
    };
    let mount = wanted(ShareKind::Cifs, login(KEY));
    assert!(!format!("{mount:?}").contains("bWFya2Vy"));
    for password in [KEY, "bWFya2Vy\0"] {
        // Fails on every machine: the target does not exist.
        let missing = ShareMount {
            target: "/no/such/target".into(),
            login: login(password),
            ..mount.clone()
        };
        let error = super::mount_now(&missing).unwrap_err();
        let shown = format!("{error:?} {}", azcsi_types::fault::report(&error));
        assert!(!shown.contains("bWFya2Vy"), "{shown}");
    }
}

#[test]
fn a_source_is_known_again_in_the_kernel_s_spelling() {
    for (one, other, same) in [
        ("//a.file.x/s", "//A.file.x/s/", true),
        ("\\\\a.file.x\\s", "//a.file.x/s", true),
        ("//a.file.x/s", "//a.file.x/S", false),
        ("//a.file.x/s/f", "//a.file.x/s", false),
        ("A.x:/a/s", "a.x:/a/s", true),
        ("a.x:/a/s", "a.x:/a/t", false),
    ] {
        assert_eq!(is_same(one, other), same, "{one} {other}");
    }
}

#[test]
fn the_stand_in_stays_in_its_folder() {
    assert_eq!(relative("//h/../../s"), PathBuf::from("h/s"));
    assert_eq!(relative("h:/a/s"), PathBuf::from("h/a/s"));
}

#[test]
fn the_kernel_s_table_tells_whose_mount_it_is() {
    let of = |line: &str, kind, source| {
        let table = Table::parse(line.as_bytes()).unwrap();
        let clock = std::sync::Arc::new(RealClock::default());
        KernelShares::new(clock).is_of(table.iter().next().unwrap(), kind, source)
    };
    let smb = "40 1 0:60 / /t rw - cifs //a.file.x/s rw,vers=3.1.1\n";
    assert!(of(smb, ShareKind::Cifs, "//a.file.x/s"));
    assert!(!of(smb, ShareKind::Cifs, "//a.file.x/s/f"));
    assert!(!of(smb, ShareKind::Nfs, "//a.file.x/s"));
    let folder = "40 1 0:60 /d/f /t rw - cifs //a.file.x/s/d/f rw,vers=3.1.1\n";
    assert!(of(folder, ShareKind::Cifs, "//a.file.x/s/d/f"));
    let other = "40 1 0:60 /other /t rw - cifs //a.file.x/s/d/f rw\n";
    assert!(!of(other, ShareKind::Cifs, "//a.file.x/s/d/f"));
    let nfs = "41 1 0:61 / /t rw - nfs4 a.file.x:/a/s rw,vers=4.1,addr=10.0.0.4\n";
    assert!(of(nfs, ShareKind::Nfs, "a.file.x:/a/s"));
    let part = "41 1 0:61 /sub /t rw - nfs4 a.file.x:/a/s rw\n";
    assert!(!of(part, ShareKind::Nfs, "a.file.x:/a/s"));
}
