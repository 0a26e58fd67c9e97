//! Problems that users of other drivers reported, on the node: checks that take long, stats of
//! places that are none, folders with very many files.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use azcsi_host::exec::Exec;
use azcsi_host::fsck::Fsck;
use azcsi_host::tools::Tools;
use azcsi_rpc::SystemClock;
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::stat::Mode;
use tokio::time::timeout;
use tonic::Code;

use super::rig::{MIB, Rig, Volume, code, volume};
use crate::node::Powers;
use crate::notices::SLOW;

/// An `e2fsck` that notes that it was started, waits for a word, and is the real one then.
struct SlowCheck {
    folder: tempfile::TempDir,
    begun: File,
    gate: File,
}

impl SlowCheck {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pipe = |name: &str| {
            let path = folder.path().join(name);
            nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
            // Open at both ends, so that neither opening it waits.
            File::options().read(true).write(true).open(path).unwrap()
        };
        let (begun, gate) = (pipe("begun"), pipe("gate"));
        let tool = folder.path().join("e2fsck");
        let text = "#!/bin/sh\ncd DIR\necho run >>runs\necho >begun\nread word <gate\nexec /usr/sbin/e2fsck \"$@\"\n";
        let text = text.replace("DIR", folder.path().to_str().unwrap());
        fs::write(&tool, text).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            folder,
            begun,
            gate,
        }
    }

    fn put(&self) -> impl Fn(&mut Powers) + Send + Sync + 'static {
        let folder = self.folder.path().to_owned();
        move |powers| {
            let tools = Tools::look_in([folder.as_path()].into_iter());
            powers.fsck = Fsck::new(Exec::new(Arc::new(SystemClock::new())), tools);
        }
    }

    async fn begins(&self) {
        let mut begun = self.begun.try_clone().unwrap();
        let read = move || begun.read_exact(&mut [0]).unwrap();
        tokio::task::spawn_blocking(read).await.unwrap();
    }

    fn go_on(&self) {
        (&self.gate).write_all(b"go\n").unwrap();
    }

    fn runs(&self) -> usize {
        let runs = fs::read_to_string(self.folder.path().join("runs"));
        runs.map_or(0, |text| text.lines().count())
    }
}

fn checked(name: &str, policy: &str) -> Volume {
    let mut volume = volume(name, 0, "ext4");
    volume.context.insert("fsck".to_owned(), policy.to_owned());
    volume
}

/// A disk with an ext4 that was mounted once.
async fn used(rig: &mut Rig) {
    rig.attach("d", 0, 16 * MIB);
    let never = checked("d", "never");
    rig.stage(&never).await.unwrap();
    fs::write(rig.path("staging/file"), "x").unwrap();
    rig.unstage(&never).await.unwrap();
}

#[tokio::test]
async fn a_long_check_is_started_once_is_told_of_and_can_be_switched_off_nd_08() {
    let check = SlowCheck::new();
    let mut rig = Rig::with(check.put());
    used(&mut rig).await;
    rig.stage(&checked("d", "never")).await.unwrap();
    rig.unstage(&checked("d", "never")).await.unwrap();
    assert_eq!(check.runs(), 0);

    let volume = checked("d", "always");
    {
        let mut first = Box::pin(rig.stage(&volume));
        tokio::select! {
            answer = &mut first => panic!("it did not wait for the check: {answer:?}"),
            () = check.begins() => {}
        }
        tokio::time::pause();
        assert!(timeout(SLOW * 2, &mut first).await.is_err());
        tokio::time::resume();
    }
    assert_eq!(rig.told.reasons(), ["FilesystemCheckSlow"]);
    // The caller has left. The next one waits for the same check.
    let again = rig.stage(&volume);
    check.go_on();
    again.await.unwrap();
    assert_eq!(check.runs(), 1);
    assert_eq!(fs::read_to_string(rig.path("staging/file")).unwrap(), "x");
}

#[tokio::test]
async fn a_device_that_an_earlier_check_still_holds_is_not_checked_again_nd_08() {
    let check = SlowCheck::new();
    let mut rig = Rig::with(check.put());
    used(&mut rig).await;
    // As e2fsck does, which may have survived the process that started it.
    let held = File::options()
        .read(true)
        .custom_flags(nix::libc::O_EXCL)
        .open(&rig.loops[0].node)
        .unwrap();
    rig.restart();
    let volume = checked("d", "always");
    assert_eq!(code(rig.stage(&volume).await), Code::Unavailable);
    assert_eq!(check.runs(), 0);
    drop(held);
    check.go_on();
    rig.stage(&volume).await.unwrap();
    assert_eq!(check.runs(), 1);
}

#[tokio::test]
async fn stats_of_a_place_that_is_none_end_at_once_nd_16() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 16 * MIB);
    let mut block = volume("d", 0, "ext4");
    block.is_block = true;
    rig.stage(&block).await.unwrap();
    rig.publish(&block, "device").await.unwrap();
    let usage = rig.stats(&block, &rig.text("device")).await.unwrap();
    let [whole] = usage.as_slice() else {
        panic!("a device has a size only: {usage:?}");
    };
    assert_eq!(whole.total, i64::try_from(16 * MIB).unwrap());
    assert_eq!((whole.available, whole.used), (0, 0));

    symlink(rig.path("b"), rig.path("a")).unwrap();
    symlink(rig.path("a"), rig.path("b")).unwrap();
    symlink("self", rig.path("self")).unwrap();
    symlink(rig.path("device"), rig.path("aside")).unwrap();
    let too_long = "x".repeat(300);
    for path in [
        "none", "none/pod", "a", "a/pod", "self/a/b", "aside", &too_long,
    ] {
        let answer = rig.stats(&block, &rig.text(path)).await;
        assert_eq!(code(answer), Code::NotFound, "{path}");
    }
    rig.unpublish(&block, "device").await.unwrap();
    rig.unstage(&block).await.unwrap();
}

/// How often the folder at a path is read from now on.
struct Reads(Inotify);

impl Reads {
    fn of(path: &Path) -> Self {
        let watch = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
        watch.add_watch(path, AddWatchFlags::IN_ACCESS).unwrap();
        Self(watch)
    }

    fn count(&self) -> usize {
        match self.0.read_events() {
            Ok(events) => events.len(),
            Err(Errno::EAGAIN) => 0,
            Err(errno) => panic!("no events: {errno}"),
        }
    }
}

#[tokio::test]
async fn however_many_files_a_volume_has_none_of_its_folders_is_listed_nd_17() {
    let mut rig = Rig::new();
    rig.attach("d", 0, 64 * MIB);
    let volume = volume("d", 0, "ext4");
    rig.stage(&volume).await.unwrap();
    for number in 0..2000 {
        File::create(rig.path("staging").join(format!("file {number}"))).unwrap();
    }
    let staging = rig.path("staging");
    let reads = Reads::of(&staging);
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "pod").await.unwrap();
    rig.publish(&volume, "pod").await.unwrap();
    rig.stats(&volume, &rig.text("pod")).await.unwrap();
    rig.expand(&volume, &rig.text("pod"), 64 * MIB)
        .await
        .unwrap();
    assert!(rig.health(&volume).await.is_empty());
    rig.unpublish(&volume, "pod").await.unwrap();
    assert_eq!(reads.count(), 0);
    // What is counted is what a listing does.
    assert_eq!(fs::read_dir(&staging).unwrap().count(), 2001);
    assert!(reads.count() > 0);
    rig.unstage(&volume).await.unwrap();
}

#[tokio::test]
async fn a_path_that_is_too_long_for_the_kernel_is_clean_already_id_07() {
    let rig = Rig::new();
    let volume = volume("d", 0, "ext4");
    let path: PathBuf = rig.path(&"x".repeat(300));
    let path = path.to_str().unwrap();
    rig.unpublish_raw(&volume, path).await.unwrap();
    rig.unstage_raw(&volume, path).await.unwrap();
}
