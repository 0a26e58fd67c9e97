//! Hardware virtualisation is used only when a machine was seen to start with it: there are hosts
//! where `/dev/kvm` can be opened and no machine ever gets anywhere.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::image::Image;
use crate::run::command;

/// How machines are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    /// The processor's own virtualisation.
    Kvm,
    /// Software emulation.
    Emulation,
}

/// How long a machine that works may take to start the first program and end.
const PROBE: Duration = Duration::from_secs(8);

impl Accel {
    /// QEMU's options.
    #[must_use]
    pub const fn options(self) -> [&'static str; 4] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Self::Emulation => [
                "-accel",
                "tcg,thread=multi,tb-size=256",
                "-cpu",
                "max,-la57",
            ],
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "KVM",
            Self::Emulation => "software emulation",
        }
    }

    /// Tries.
    ///
    /// # Errors
    /// When QEMU cannot be run at all.
    pub async fn probe(image: &Image, ramdisk: &Path) -> Result<Self> {
        if !Path::new("/dev/kvm").exists() {
            return Ok(Self::Emulation);
        }
        let mut argv: Vec<String> = vec!["qemu-system-x86_64".to_owned()];
        argv.extend(Self::Kvm.options().map(str::to_owned));
        argv.extend(
            [
                "-machine",
                "q35",
                "-m",
                "256",
                "-nodefaults",
                "-display",
                "none",
                "-no-reboot",
                "-serial",
                "stdio",
                "-append",
                "console=ttyS0 quiet panic=-1 lab.probe",
                "-kernel",
            ]
            .map(str::to_owned),
        );
        argv.push(image.kernel().display().to_string());
        argv.extend(["-initrd".to_owned(), ramdisk.display().to_string()]);
        let mut command = command(&argv)?;
        let outcome = tokio::time::timeout(PROBE, command.output()).await;
        let passed = match outcome {
            Ok(output) => String::from_utf8_lossy(&output?.stdout).contains("probe passed"),
            Err(_) => false,
        };
        Ok(if passed { Self::Kvm } else { Self::Emulation })
    }
}
