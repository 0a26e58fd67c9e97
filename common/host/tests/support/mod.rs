//! Real block devices for tests: loop devices over sparse files, straight over the kernel's ioctls
//! (`linux/loop.h`). A device takes its mounts with it when it is dropped, also after a failed test.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};

mod sys {
    #[repr(C)]
    pub(super) struct Info {
        pub(super) numbers: [u64; 5],
        pub(super) words: [u32; 4],
        pub(super) names: [u8; 160],
        pub(super) init: [u64; 2],
    }

    #[repr(C)]
    pub(super) struct Config {
        pub(super) fd: u32,
        pub(super) block_size: u32,
        pub(super) info: Info,
        pub(super) reserved: [u64; 8],
    }

    nix::ioctl_none_bad!(ctl_get_free, 0x4C82);
    nix::ioctl_none_bad!(clear_fd, 0x4C01);
    nix::ioctl_none_bad!(set_capacity, 0x4C07);
    nix::ioctl_write_ptr_bad!(configure, 0x4C0A, Config);
}

/// Fails the test with the reason when it cannot have devices.
pub(crate) fn need_root() {
    assert!(
        nix::unistd::geteuid().is_root(),
        "this test makes loop devices and mounts: run it as root"
    );
}

/// A loop device over a sparse file.
#[derive(Debug)]
pub(crate) struct Loop {
    number: u32,
    control: File,
    pub(crate) file: PathBuf,
    pub(crate) node: PathBuf,
}

impl Loop {
    /// Over a new file of this size. The file is `name` in `folder`, the device node is in
    /// `folder/dev`.
    pub(crate) fn new(folder: &Path, name: &str, size: u64) -> Self {
        Self::with_sector(folder, name, size, 512)
    }

    /// The same with sectors of this many bytes.
    pub(crate) fn with_sector(folder: &Path, name: &str, size: u64, sector: u32) -> Self {
        let file = folder.join(name);
        File::create(&file).unwrap().set_len(size).unwrap();
        Self::over(folder, name, sector)
    }

    /// Over a file that is there.
    #[expect(unsafe_code, reason = "ioctl")]
    pub(crate) fn over(folder: &Path, name: &str, sector: u32) -> Self {
        need_root();
        let file = folder.join(name);
        let backing = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&file)
            .unwrap();
        let free = File::open("/dev/loop-control").expect("loop devices are not available here");
        let dev = folder.join("dev");
        fs::create_dir_all(&dev).unwrap();
        loop {
            // SAFETY: the descriptor is the open control device; the call takes no pointer.
            let number = unsafe { sys::ctl_get_free(free.as_raw_fd()) }.unwrap();
            let number = u32::try_from(number).unwrap();
            let node = dev.join(format!("loop{number}"));
            make_node(&node, number);
            let control = match OpenOptions::new().read(true).write(true).open(&node) {
                Ok(control) => control,
                // Another test was faster, and lets the device go at this moment.
                Err(error) if error.raw_os_error() == Some(nix::libc::ENXIO) => continue,
                Err(error) => panic!("cannot open {}: {error}", node.display()),
            };
            let config = sys::Config {
                fd: u32::try_from(backing.as_raw_fd()).unwrap(),
                block_size: sector,
                info: sys::Info {
                    numbers: [0; 5],
                    words: [0; 4],
                    names: [0; 160],
                    init: [0; 2],
                },
                reserved: [0; 8],
            };
            // SAFETY: both descriptors are open, and the structure has the kernel's layout.
            match unsafe { sys::configure(control.as_raw_fd(), &raw const config) } {
                Ok(_) => {
                    return Self {
                        number,
                        control,
                        file,
                        node,
                    };
                }
                // Another test was faster.
                Err(Errno::EBUSY) => {}
                Err(errno) => panic!("the kernel refused a loop device: {errno}"),
            }
        }
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    /// Changes the size of the file and of the device.
    #[expect(unsafe_code, reason = "ioctl")]
    pub(crate) fn resize(&self, size: u64) {
        let file = OpenOptions::new().write(true).open(&self.file).unwrap();
        file.set_len(size).unwrap();
        // SAFETY: the descriptor is an open loop device; the call takes no pointer.
        unsafe { sys::set_capacity(self.control.as_raw_fd()) }.unwrap();
    }

    /// Mount points of the device, in the order of the mounts.
    pub(crate) fn mounts(&self) -> Vec<PathBuf> {
        let suffix = format!("/{}", self.name());
        let text = fs::read_to_string("/proc/self/mounts").unwrap();
        let ours = |line: &str| {
            let mut fields = line.split(' ');
            let source = fields.next()?;
            let point = fields.next()?.replace("\\040", " ");
            source.ends_with(&suffix).then(|| PathBuf::from(point))
        };
        text.lines().filter_map(ours).collect()
    }

    /// Paths to which a node of the device is bound.
    fn bound(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let ours = |line: &str| {
            let mut fields = line.split(' ').skip(3);
            let root = Path::new(fields.next()?);
            let point = fields.next()?.replace("\\040", " ");
            let is_ours = root.iter().any(|part| part == self.name().as_str());
            is_ours.then(|| PathBuf::from(point))
        };
        text.lines().filter_map(ours).collect()
    }
}

fn make_node(path: &Path, number: u32) {
    let text = fs::read_to_string(format!("/sys/block/loop{number}/dev")).unwrap();
    let (major, minor) = text.trim().split_once(':').unwrap();
    let device = makedev(major.parse().unwrap(), minor.parse().unwrap());
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    match mknod(path, SFlag::S_IFBLK, mode, device) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(errno) => panic!("cannot make a device node: {errno}"),
    }
}

impl Drop for Loop {
    #[expect(unsafe_code, reason = "ioctl")]
    fn drop(&mut self) {
        // A failed test's node of the device, bound to a path, would pass for one of the next test that
        // gets this number.
        for point in self.mounts().iter().chain(&self.bound()).rev() {
            let _ = umount2(point, MntFlags::MNT_DETACH);
        }
        // SAFETY: the descriptor is an open loop device; the call takes no pointer.
        let _ = unsafe { sys::clear_fd(self.control.as_raw_fd()) };
    }
}
