//! How much is refused.

/// Which translation is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Byte for byte what Kubernetes computes, its oddities included. Wherever a handle must agree
    /// with kubelet or a sidecar, only this one is right: names of attachments and staging
    /// folders are hashes of it.
    #[default]
    Compat,
    /// The same for good input; an error where Kubernetes produces something that fails later.
    Strict,
}

impl Mode {
    /// Its name on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compat => "compat",
            Self::Strict => "strict",
        }
    }

    /// The mode of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Compat, Self::Strict]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}
