//! No secret is in an error, a record or a log.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex};

use nix::libc;
use tracing_subscriber::fmt::MakeWriter;

use super::rig::{Rig, map, smb};

const MARK: &str = "bWFya2VyLW1hcmtlcg==";

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_key_and_a_token_are_nowhere_smb_14() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let rig = Rig::new();
    let mut volume = smb();
    volume.secrets = map(&[("accountname", "acct1"), ("accountkey", MARK)]);
    let tokens = format!(r#"{{"x":{{"token":"{MARK}"}}}}"#);
    volume = volume.with(&[("csi.storage.k8s.io/serviceAccount.tokens", &tokens)]);
    let mut said = String::new();
    for errno in [libc::EACCES, libc::EINVAL, libc::EIO] {
        rig.shares.fails_with(errno);
        said.push_str(&format!("{:?}", rig.stage(&volume).await.unwrap_err()));
    }
    let wrong = volume.clone().with(&[
        ("mountWithWorkloadIdentityToken", "true"),
        ("clientID", "c"),
    ]);
    said.push_str(&format!(
        "{:?}",
        rig.publish(&wrong, "one").await.unwrap_err()
    ));
    rig.shares.works();
    rig.stage(&volume).await.unwrap();
    rig.publish(&volume, "one").await.unwrap();
    said.push_str(&format!("{:?}", rig.shares.mounts()));
    for entry in fs::read_dir(rig.path("state")).unwrap() {
        said.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    drop(guard);
    said.push_str(&String::from_utf8_lossy(&log.0.lock().unwrap()));
    assert!(said.contains("acct1") && !said.contains(MARK), "{said}");
    let mounts = rig.shares.mounts();
    let login = &mounts.last().unwrap().login;
    let azcsi_host::shares::Login::Password { password, .. } = login else {
        panic!("{login:?}");
    };
    assert_eq!(password.expose(), MARK, "the kernel does get it");
}

/// A command line can be read by everybody on the node. Programs are started for filesystems in files
/// only, and that file knows no login.
#[test]
fn no_program_is_started_with_a_login() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/node");
    let mut starters = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if text.contains(".exec") {
                let knows = ["Login", "Secret", "handed", ".key"];
                assert!(!knows.iter().any(|word| text.contains(word)), "{name}");
                starters.push(name);
            }
        }
    }
    assert_eq!(starters, ["vhd.rs"]);
}
