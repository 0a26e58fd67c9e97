//! Copies of a filesystem, and devices that take no writes.

use std::fs;
use std::path::Path;
use std::process::Command;

use tonic::Code;

use super::rig::{MIB, Rig, Volume, code, volume};

fn tool(name: &str, args: &[&str], path: &Path) {
    #[expect(clippy::disallowed_methods, reason = "a test prepares its device")]
    let done = Command::new(name).args(args).arg(path).status().unwrap();
    assert!(done.success(), "{name} {args:?}");
}

/// A device that takes no writes. The kernel keeps that word for whoever gets the device next, so it
/// is taken back.
struct Protected(std::path::PathBuf);

impl Protected {
    fn new(node: &Path) -> Self {
        tool("blockdev", &["--setro"], node);
        Self(node.to_owned())
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        tool("blockdev", &["--setrw"], &self.0);
    }
}

/// Stages a volume, writes a file, and copies the disk while it is in use.
async fn copied(rig: &mut Rig, fs: &'static str, size: u64) -> (Volume, Volume) {
    let one = rig.attach("one", 0, size);
    let source = volume("one", 0, fs);
    rig.stage_at(&source, "staging one").await.unwrap();
    fs::write(rig.path("staging one/file"), "x").unwrap();
    rig.unstage_at(&source, "staging one").await.unwrap();
    rig.stage_at(&source, "staging one").await.unwrap();
    fs::write(rig.path("staging one/later"), "only in the journal").unwrap();
    let mounted = fs::File::open(rig.path("staging one")).unwrap();
    nix::unistd::syncfs(&mounted).unwrap();
    drop(mounted);
    fs::copy(&rig.loops[one].file, rig.path("two")).unwrap();
    let mut copy = volume("two", 1, fs);
    let filled = ("createdEmpty".to_owned(), "false".to_owned());
    copy.context.extend([filled]);
    (source, copy)
}

#[tokio::test]
async fn a_copy_on_a_write_protected_device_is_read_without_replay() {
    for (fs, size) in [("ext4", 64 * MIB), ("xfs", 320 * MIB), ("btrfs", 128 * MIB)] {
        let mut rig = Rig::new();
        let (source, mut copy) = copied(&mut rig, fs, size).await;
        rig.unstage_at(&source, "staging one").await.unwrap();
        let two = rig.attach_file("two", 1);
        let protected = Protected::new(&rig.loops[two].node);
        let refused = rig.stage_at(&copy, "staging two").await;
        assert_eq!(code(refused), Code::FailedPrecondition, "{fs}");
        copy.flags = vec!["ro".to_owned()];
        rig.stage_at(&copy, "staging two").await.unwrap();
        let text = fs::read_to_string(rig.path("staging two/file"));
        assert_eq!(text.unwrap(), "x", "{fs}");
        assert_eq!(
            rig.told.reasons(),
            ["StageRefused", "MountedWithoutRecovery"],
            "{fs}"
        );
        rig.unstage_at(&copy, "staging two").await.unwrap();
        drop(protected);
    }
}

#[tokio::test]
async fn a_copy_of_a_disk_in_use_is_replayed_and_never_made_anew_sn_14() {
    for (fs, size) in [("ext4", 64 * MIB), ("xfs", 320 * MIB)] {
        let mut rig = Rig::new();
        let (_, copy) = copied(&mut rig, fs, size).await;
        fs::copy(rig.path("two"), rig.path("three")).unwrap();
        rig.attach_file("two", 1);
        rig.stage_at(&copy, "staging two").await.unwrap();
        for (name, text) in [("file", "x"), ("later", "only in the journal")] {
            let kept = fs::read_to_string(rig.path("staging two").join(name));
            assert_eq!(kept.unwrap(), text, "{fs} {name}");
        }
        // The same copy without its beginning: whatever is wrong with it, it is left as it is.
        let broken = rig.path("three");
        let mut file = fs::File::options().write(true).open(&broken).unwrap();
        std::io::Write::write_all(&mut file, &[0; 65536]).unwrap();
        let before = fs::read(&broken).unwrap();
        rig.attach_file("three", 2);
        let mut copy = volume("three", 2, fs);
        let filled = ("createdEmpty".to_owned(), "false".to_owned());
        copy.context.extend([filled]);
        let refused = rig.stage_at(&copy, "staging three").await;
        assert_eq!(code(refused), Code::FailedPrecondition, "{fs}");
        assert!(fs::read(&broken).unwrap() == before, "{fs}");
    }
}

#[tokio::test]
async fn a_btrfs_beside_its_copy_is_refused_where_the_kernel_mixes_them_up() {
    let mut rig = Rig::with(|powers| powers.tells_btrfs_twins = false);
    let (source, copy) = copied(&mut rig, "btrfs", 128 * MIB).await;
    let two = rig.attach_file("two", 1);
    assert_eq!(
        code(rig.stage_at(&copy, "staging two").await),
        Code::FailedPrecondition
    );
    assert!(rig.loops[two].mounts().is_empty());
    rig.unstage_at(&source, "staging one").await.unwrap();
    // The other disk is still in the machine.
    assert_eq!(
        code(rig.stage_at(&copy, "staging two").await),
        Code::FailedPrecondition
    );
    rig.loops.remove(0);
    rig.stage_at(&copy, "staging two").await.unwrap();
    assert_eq!(
        fs::read_to_string(rig.path("staging two/file")).unwrap(),
        "x"
    );
}

#[tokio::test]
async fn a_disk_with_data_is_told_of_on_claim_and_node() {
    let mut rig = Rig::new();
    let disk = rig.attach("d", 0, 16 * MIB);
    fs::write(rig.path("data"), "not blank").unwrap();
    tool(
        "dd",
        &[
            "if=/dev/urandom",
            "bs=4096",
            "count=1",
            "conv=notrunc,fsync",
            "status=none",
        ],
        Path::new(&format!("of={}", rig.loops[disk].node.display())),
    );
    let mut volume = volume("d", 0, "ext4");
    for (key, value) in [("name", "data"), ("namespace", "app")] {
        let key = format!("csi.storage.k8s.io/pvc/{key}");
        volume.context.insert(key, value.to_owned());
    }
    assert_eq!(code(rig.stage(&volume).await), Code::FailedPrecondition);
    assert_eq!(rig.told.reasons(), ["FormatRefused"]);
    let told = rig.told.of_claim("data");
    assert!(told[0].contains("not blank") && told[0].contains("nothing was written"));
}
