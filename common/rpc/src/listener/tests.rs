//! Tests of `listener`.

use std::os::unix::fs::PermissionsExt as _;

use tokio::net::UnixStream;

use super::{BindError, Bound, Listener};
use crate::endpoint::Endpoint;

fn place() -> (tempfile::TempDir, Endpoint) {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::Unix(folder.path().join("csi.sock"));
    (folder, endpoint)
}

fn remove(listener: &Listener) {
    match &listener.0 {
        Bound::Unix(_, file) => file.remove(),
        Bound::Tcp(_) => panic!("no file"),
    }
}

#[tokio::test]
async fn the_socket_is_private_and_alone_in_its_folder() {
    let (folder, endpoint) = place();
    let _listener = Listener::bind(&endpoint).await.unwrap();
    let entries: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(entries.len(), 1);
    let mode = entries[0].metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_socket_that_answers_is_left_alone() {
    let (folder, endpoint) = place();
    let _first = Listener::bind(&endpoint).await.unwrap();
    let error = Listener::bind(&endpoint).await.unwrap_err();
    assert!(matches!(&error, BindError::Taken(_)));
    assert!(error.to_string().contains("served by another process"));
    UnixStream::connect(folder.path().join("csi.sock"))
        .await
        .expect("the first still serves");
}

#[tokio::test]
async fn a_socket_left_over_is_replaced() {
    let (folder, endpoint) = place();
    drop(Listener::bind(&endpoint).await.unwrap());
    let path = folder.path().join("csi.sock");
    assert!(path.exists() && UnixStream::connect(&path).await.is_err());
    let _second = Listener::bind(&endpoint).await.unwrap();
    UnixStream::connect(&path).await.unwrap();
}

#[tokio::test]
async fn what_is_no_socket_is_never_removed() {
    let (folder, endpoint) = place();
    let path = folder.path().join("csi.sock");
    std::fs::write(&path, "precious").unwrap();
    let error = Listener::bind(&endpoint).await.unwrap_err();
    assert!(matches!(error, BindError::NotASocket(_)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let (folder, _) = place();
    let endpoint = Endpoint::Unix(folder.path().join("missing/csi.sock"));
    let error = Listener::bind(&endpoint).await.unwrap_err();
    assert!(error.to_string().contains("missing/csi.sock"), "{error}");
}

#[tokio::test]
async fn the_socket_of_a_successor_is_not_removed() {
    let (folder, endpoint) = place();
    let path = folder.path().join("csi.sock");
    let first = Listener::bind(&endpoint).await.unwrap();
    std::fs::rename(&path, folder.path().join("old.sock")).unwrap();
    let second = Listener::bind(&endpoint).await.unwrap();
    remove(&first);
    assert!(path.exists());
    remove(&second);
    assert!(!path.exists());
}

#[tokio::test]
async fn the_real_port_is_told() {
    let endpoint = Endpoint::Tcp("127.0.0.1:0".to_owned());
    let listener = Listener::bind(&endpoint).await.unwrap();
    let Some(Endpoint::Tcp(address)) = listener.endpoint() else {
        panic!("no address")
    };
    assert!(!address.ends_with(":0"));
    let taken = Listener::bind(&Endpoint::Tcp(address)).await.unwrap_err();
    assert!(matches!(taken, BindError::Refused { .. }));
}
