//! Programs that print, fail, hang and are left behind.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Deadline;

use super::{Exec, ExecError, Exit, OUTPUT_LIMIT};
use crate::worker::tests_support::RealClock;

fn exec() -> Exec {
    Exec::new(Arc::new(RealClock::default()))
}

async fn shell(exec: &Exec, script: &str, deadline: Deadline) -> Result<super::Output, ExecError> {
    let args = ["-c", script].map(OsString::from);
    exec.run(Path::new("/bin/sh"), &args, deadline).await
}

#[tokio::test]
async fn a_program_gets_no_input_and_a_clean_environment() {
    let script = "cat; echo out $LC_ALL; env | grep -c HOME; echo err >&2; exit 3";
    let output = shell(&exec(), script, Deadline::NEVER).await.unwrap();
    assert_eq!(output.exit, Exit::Code(3));
    assert_eq!(output.stdout, "out C\n0\n");
    assert_eq!(output.said(), "err");
}

#[tokio::test]
async fn output_is_bounded_and_keeps_its_end() {
    let script = "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; echo end";
    let output = shell(&exec(), script, Deadline::NEVER).await.unwrap();
    assert!(output.stdout.len() <= OUTPUT_LIMIT);
    assert!(output.stdout.ends_with("end\n"));
}

#[tokio::test]
async fn at_its_deadline_a_program_is_killed_with_its_children() {
    let exec = exec();
    let result = shell(
        &exec,
        "sleep 1000 & sleep 1000",
        Deadline::at(Duration::ZERO),
    )
    .await;
    assert!(matches!(result, Err(ExecError::TimedOut { .. })));
    assert_eq!(exec.running(), 0);
}

#[tokio::test]
async fn a_signal_is_told_from_a_code() {
    let output = shell(&exec(), "kill -9 $$", Deadline::NEVER).await.unwrap();
    assert_eq!(output.exit, Exit::Signal(9));
}

#[tokio::test]
async fn a_dropped_call_leaves_the_program_and_the_dropped_host_kills_it() {
    let exec = exec();
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("pid");
    let script = format!(
        "echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 1000",
        path.display()
    );
    let handle = exec.clone();
    let call = tokio::spawn(async move { shell(&handle, &script, Deadline::NEVER).await });
    while !path.exists() {
        tokio::task::yield_now().await;
    }
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(exec.running(), 1);
    let pid: i32 = std::fs::read_to_string(&path)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = nix::unistd::Pid::from_raw(pid);
    assert!(nix::sys::signal::kill(pid, None).is_ok());
    drop(exec);
    while nix::sys::signal::kill(pid, None).is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_missing_program_is_said() {
    let result = exec()
        .run(Path::new("/no/such"), &[], Deadline::NEVER)
        .await;
    assert!(matches!(result, Err(ExecError::Start { .. })));
}
