//! `azcsi-lab-ask PORT PROGRAM ARGUMENT…`: has the agent of a machine run a program to its end.

use std::process::ExitCode;

use azcsi_lab::machine::agent::Agent;
use azcsi_lab::runner::say;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().and_then(|port| port.parse().ok());
    let program: Vec<String> = arguments.collect();
    let (Some(port), false) = (port, program.is_empty()) else {
        say("usage: azcsi-lab-ask PORT PROGRAM ARGUMENT…");
        return ExitCode::FAILURE;
    };
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    match Agent::new(port).run(&program).await {
        Ok(text) => {
            say(text.trim_end());
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
