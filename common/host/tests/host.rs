//! The host crate on real loop devices, with the real tools.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_host::Roots;
use azcsi_host::devices::{Changed, Devices, Disk};
use azcsi_host::exec::Exec;
use azcsi_host::fsck::{Fsck, FsckError};
use azcsi_host::growfs::{Grow, Mounted};
use azcsi_host::mkfs::{Mkfs, Overwrite, Slots};
use azcsi_host::mount::{MountOptions, Mounter, Unmount, Wanted, Write};
use azcsi_host::mountinfo::{DevT, MountTable};
use azcsi_host::probe::{Content, FsKind, inspect};
use azcsi_host::tools::Tools;
use azcsi_types::clock::{Clock, Deadline};
use azcsi_types::op::Op;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use support::Loop;

const MIB: u64 = 1024 * 1024;
const SLOTS: Slots = Slots {
    at_once: 2,
    patience: Duration::from_secs(300),
};

/// Time of the test's runtime.
#[derive(Debug)]
struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.0.elapsed()
    }
}

/// Everything for one device. The device is dropped before the folder with its file.
struct Bench {
    device: Loop,
    devices: Devices,
    mounter: Mounter,
    table: MountTable,
    exec: Exec,
    tools: Tools,
    op: Op,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(size: u64) -> Self {
        support::need_root();
        let folder = tempfile::Builder::new()
            .prefix("azcsi-host-test")
            .tempdir()
            .unwrap();
        let device = Loop::new(folder.path(), "disk", size);
        let roots = Roots {
            dev: folder.path().join("dev"),
            ..Roots::default()
        };
        let clock: Arc<dyn Clock> = Arc::new(TestClock(tokio::time::Instant::now()));
        let table = MountTable::new(&roots);
        Self {
            device,
            devices: Devices::new(roots),
            mounter: Mounter::new(Arc::clone(&clock), table.clone()),
            table,
            exec: Exec::new(clock),
            tools: Tools::look(),
            op: Op::start("test", Deadline::NEVER),
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn disk(&self) -> Disk {
        let number = fs::read_to_string(format!("/sys/block/{}/dev", self.device.name())).unwrap();
        self.devices
            .by_number(DevT::parse(&number).unwrap())
            .unwrap()
    }

    async fn make(&self, kind: FsKind) {
        let mkfs = Mkfs::new(self.exec.clone(), self.tools.clone(), SLOTS);
        mkfs.make(&self.op, kind, &self.device.node, Overwrite::Nothing)
            .await
            .unwrap();
    }

    async fn mount(&self, kind: FsKind, target: &Path, flags: &[&str]) {
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        let wanted = Wanted {
            source: self.device.node.clone(),
            target: target.to_owned(),
            fs_type: kind.name().to_owned(),
            options: MountOptions::parse(&flags).unwrap(),
        };
        self.mounter.mount(&self.op, wanted).await.unwrap();
    }

    /// A filesystem that fills its device, and one whose device has grown.
    async fn measure(&self, kind: FsKind, point: &Path, size: u64) {
        let mounted = Mounted {
            kind,
            node: self.device.node.clone(),
            point: point.to_owned(),
            device: size,
        };
        let grow = Grow::new(self.exec.clone(), self.tools.clone());
        let same = grow.to_device(&self.op, &mounted).await.unwrap();
        assert_eq!(same, size, "{kind}");
        // Restricted containers may not grow a mounted ext; the driver's tests cover that.
        if !kind.is_ext() {
            self.device.resize(2 * size);
            let larger = Mounted {
                device: 2 * size,
                ..mounted
            };
            let grown = grow.to_device(&self.op, &larger).await.unwrap();
            assert_eq!(grown, 2 * size, "{kind}");
        }
    }
}

#[tokio::test]
async fn every_filesystem_is_recognised_mounted_and_measured() {
    for (kind, size) in [
        (FsKind::Ext2, 16 * MIB),
        (FsKind::Ext3, 32 * MIB),
        (FsKind::Ext4, 16 * MIB),
        (FsKind::Xfs, 320 * MIB),
        (FsKind::Btrfs, 160 * MIB),
    ] {
        let bench = Bench::new(size);
        assert_eq!(
            inspect(&bench.device.node, 1).unwrap(),
            Content::Blank,
            "{kind}"
        );
        bench.make(kind).await;
        let Content::Filesystem(found) = inspect(&bench.device.node, 1).unwrap() else {
            panic!("{kind} is not recognised");
        };
        assert_eq!((found.kind, found.bytes), (kind, size));
        assert_eq!(found.uuid.len(), 32);
        let point = bench.path("point");
        bench.mount(kind, &point, &[]).await;
        let table = bench.table.read().unwrap();
        let mount = table.top(&point).unwrap();
        assert_eq!(
            (mount.block_device(), mount.fs_type.as_str()),
            (bench.disk().device, kind.name())
        );
        bench.measure(kind, &point, size).await;
        bench
            .mounter
            .unmount_all(&bench.op, &point, Unmount::Plain)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_mounted_device_is_claimed_and_a_free_one_is_not() {
    let bench = Bench::new(16 * MIB);
    bench.make(FsKind::Ext4).await;
    let disk = bench.disk();
    let guard = bench.devices.guard(&disk).unwrap();
    guard.prove_unclaimed(&bench.devices).unwrap();
    assert_eq!(guard.size().unwrap(), 16 * MIB);
    let point = bench.path("point");
    bench.mount(FsKind::Ext4, &point, &[]).await;
    let claimed = guard.prove_unclaimed(&bench.devices);
    assert!(matches!(claimed, Err(Changed::Claimed { .. })));
    bench
        .mounter
        .unmount_all(&bench.op, &point, Unmount::Plain)
        .await
        .unwrap();
    guard.prove_unclaimed(&bench.devices).unwrap();
    guard.flush().unwrap();
}

#[tokio::test]
async fn a_device_of_another_number_is_not_the_same() {
    let bench = Bench::new(8 * MIB);
    let other = Loop::new(bench.folder.path(), "other", 8 * MIB);
    let disk = bench.disk();
    let guard = bench.devices.guard(&disk).unwrap();
    fs::rename(&other.node, &bench.device.node).unwrap();
    assert!(matches!(
        guard.verify(&bench.devices),
        Err(Changed::Replaced { .. })
    ));
    assert!(matches!(
        bench.devices.guard(&disk),
        Err(Changed::Replaced { .. })
    ));
}

#[tokio::test]
async fn a_bind_is_read_only_alone_and_a_busy_mount_stays() {
    let bench = Bench::new(16 * MIB);
    bench.make(FsKind::Ext4).await;
    let (point, reader) = (bench.path("point"), bench.path("reader"));
    bench.mount(FsKind::Ext4, &point, &["noatime,nosuid"]).await;
    bench
        .mounter
        .bind(&bench.op, &point, &reader, Write::Denied)
        .await
        .unwrap();
    assert!(fs::write(reader.join("file"), "x").is_err());
    fs::write(point.join("file"), "x").unwrap();
    let table = bench.table.read().unwrap();
    assert!(table.top(&reader).unwrap().is_read_only());
    assert!(!table.top(&point).unwrap().is_read_only());
    let open = fs::File::open(point.join("file")).unwrap();
    let busy = bench
        .mounter
        .unmount_all(&bench.op, &point, Unmount::Plain)
        .await;
    assert_eq!(busy.unwrap_err().errno(), Some(nix::libc::EBUSY));
    drop(open);
    for path in [&reader, &point, &point] {
        bench
            .mounter
            .unmount_all(&bench.op, path, Unmount::Plain)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_broken_ext_is_repaired_or_refused() {
    let bench = Bench::new(16 * MIB);
    bench.make(FsKind::Ext4).await;
    let fsck = Fsck::new(bench.exec.clone(), bench.tools.clone());
    fsck.preen(&bench.op, &bench.device.node).await.unwrap();
    fsck.preen_fully(&bench.op, &bench.device.node)
        .await
        .unwrap();
    // The table of the first block group, which every inode needs.
    use std::io::{Seek, SeekFrom, Write as _};
    let mut node = fs::File::options()
        .write(true)
        .open(&bench.device.node)
        .unwrap();
    node.seek(SeekFrom::Start(1024)).unwrap();
    node.write_all(&[0xa5; 512]).unwrap();
    drop(node);
    let broken = fsck.preen(&bench.op, &bench.device.node).await;
    assert!(
        matches!(broken, Err(FsckError::Failed { .. })),
        "{broken:?}"
    );
}

#[tokio::test]
async fn the_tables_of_a_check_are_kept_in_files_from_a_size_on_nd_08() {
    let bench = Bench::new(16 * MIB);
    bench.make(FsKind::Ext4).await;
    for (directories, in_files) in [(0, true), (1000, false)] {
        let folder = bench.device.file.with_extension("scratch");
        let fsck = Fsck::new(bench.exec.clone(), bench.tools.clone());
        let fsck = fsck.with_scratch(&folder, directories).unwrap();
        let watch = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
        watch.add_watch(&folder, AddWatchFlags::IN_CREATE).unwrap();
        fsck.preen_fully(&bench.op, &bench.device.node)
            .await
            .unwrap();
        assert_eq!(watch.read_events().is_ok(), in_files, "{directories}");
    }
}

#[tokio::test]
async fn nothing_is_made_over_a_filesystem_that_the_tool_knows() {
    let bench = Bench::new(320 * MIB);
    bench.make(FsKind::Xfs).await;
    let mkfs = Mkfs::new(bench.exec.clone(), bench.tools.clone(), SLOTS);
    let again = mkfs
        .make(
            &bench.op,
            FsKind::Btrfs,
            &bench.device.node,
            Overwrite::Nothing,
        )
        .await;
    assert!(again.is_err());
    let Content::Filesystem(kept) = inspect(&bench.device.node, 1).unwrap() else {
        panic!("the filesystem is gone");
    };
    assert_eq!(kept.kind, FsKind::Xfs);
}
