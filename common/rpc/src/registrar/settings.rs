//! What may be said about the registration on the command line, the same for every driver.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::Registrar;
use crate::endpoint::Endpoint;

/// Flags of the registration.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Registration with kubelet")]
pub struct RegistrarArgs {
    /// Register the driver with kubelet, as the node-driver-registrar sidecar would.
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    built_in_registrar: bool,
    /// The folder plugins_registry of kubelet, as this process sees it.
    #[arg(long, default_value = "/registration", value_name = "PATH")]
    registration_dir: PathBuf,
    /// Path of the CSI socket as kubelet sees it; empty for kubelet's usual folder and the driver's name.
    #[arg(long, default_value = "", value_name = "PATH")]
    kubelet_registration_path: String,
}

impl RegistrarArgs {
    /// The registration that is wanted, if any, of a driver that serves CSI on `endpoint`.
    ///
    /// # Errors
    /// What cannot be registered, as one line.
    pub fn resolve(self, driver: &str, endpoint: &Endpoint) -> Result<Option<Registrar>, String> {
        if !self.built_in_registrar {
            return Ok(None);
        }
        if matches!(endpoint, Endpoint::Tcp(_)) {
            return Err(format!(
                "--built-in-registrar needs a Unix socket in --endpoint, not {endpoint}: kubelet calls no other"
            ));
        }
        let path = match self.kubelet_registration_path.trim() {
            "" => format!("/var/lib/kubelet/plugins/{driver}/csi.sock"),
            path => path.to_owned(),
        };
        if !path.starts_with('/') {
            return Err(format!(
                "invalid value '{path}' for '--kubelet-registration-path': expected an absolute path, \
                 without unix://"
            ));
        }
        Ok(Some(Registrar {
            driver: driver.to_owned(),
            endpoint: PathBuf::from(path),
            folder: self.registration_dir,
        }))
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::{Registrar, RegistrarArgs};

    fn resolved(args: &[&str], endpoint: &str) -> Result<Option<Registrar>, String> {
        let command = RegistrarArgs::augment_args(clap::Command::new("x").no_binary_name(true));
        let matches = command.get_matches_from(args);
        let args = RegistrarArgs::from_arg_matches(&matches).unwrap();
        args.resolve("disk.csi.azure.com", &endpoint.parse().unwrap())
    }

    #[test]
    fn nothing_is_registered_unless_it_is_asked_for() {
        let flags = ["--kubelet-registration-path=/x", "--registration-dir=/y"];
        assert_eq!(resolved(&flags, "unix:///csi/csi.sock"), Ok(None));
    }

    #[test]
    fn the_path_is_kubelets_usual_one_or_the_given_one() {
        for (flag, path) in [
            ("", "/var/lib/kubelet/plugins/disk.csi.azure.com/csi.sock"),
            ("/data/k/csi.sock", "/data/k/csi.sock"),
        ] {
            let flag = format!("--kubelet-registration-path={flag}");
            let flags = ["--built-in-registrar=true", &flag];
            let registrar = resolved(&flags, "unix:///csi/csi.sock").unwrap().unwrap();
            assert_eq!(registrar.endpoint.to_str(), Some(path));
            assert_eq!(registrar.folder.to_str(), Some("/registration"));
            assert_eq!(registrar.driver, "disk.csi.azure.com");
        }
    }

    #[test]
    fn what_kubelet_could_not_call_is_refused() {
        let on = "--built-in-registrar=true";
        let wrong = resolved(&[on], "tcp://127.0.0.1:1").unwrap_err();
        assert!(wrong.contains("Unix socket"), "{wrong}");
        let flags = [on, "--kubelet-registration-path=unix:///x"];
        let wrong = resolved(&flags, "unix:///csi/csi.sock").unwrap_err();
        assert!(wrong.contains("absolute path"), "{wrong}");
    }
}
