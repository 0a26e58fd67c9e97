//! Reads every exchange that a client had with the simulator into the models of
//! `azure_mgmt_compute`, writes them out again, and compares field for field; then lets the crate's
//! own GET and LIST calls run against the simulator.
//!
//! The models are generated from Azure's own API description and nobody here wrote them, so a
//! misspelt field, a wrong type or an invented value of an enum cannot pass.

mod allowed;
mod compare;
mod exchange;
mod kinds;
mod live;
mod report;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use allowed::Allowed;
use report::{Report, Trouble};

fn main() -> ExitCode {
    match run() {
        Ok(report) => {
            println!("models: {} passed, {} failed", report.passed, report.failed);
            ExitCode::from(u8::from(report.failed > 0 || report.passed == 0))
        }
        Err(error) => {
            eprintln!("models: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<Report, Trouble> {
    let mut report = Report::default();
    let mut allowed = Allowed::read()?;
    let mut exchanges = Vec::new();
    let mut endpoints = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words
            .next()
            .map(PathBuf::from)
            .ok_or("an option has no value")?;
        match word.as_str() {
            "--exchanges" => exchanges.extend(exchange::read(&value)?),
            "--endpoints" => endpoints = Some(value),
            other => return Err(format!("{other} is no option").into()),
        }
    }
    kinds::check(&exchanges, &mut allowed, &mut report);
    allowed.report_unused(&mut report);
    if let Some(path) = endpoints {
        live::run(&path, &mut report)?;
    }
    Ok(report)
}
