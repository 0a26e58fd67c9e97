//! The agent: one request per connection, each on its own thread.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, bail};

use super::{STAGE_WRITER, facts::Facts, nvme, pattern, relay, say, tools, writer};
use crate::wire::{AGENT_PORT, RUN, Reply, Request, Span};

/// What goes on in the background.
#[derive(Debug, Default)]
struct Background {
    /// Programs that were started, by name.
    programs: Mutex<BTreeMap<String, Child>>,
}

impl Background {
    fn programs(&self) -> MutexGuard<'_, BTreeMap<String, Child>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn run() -> Result<()> {
    if Facts::read()?.nvme {
        thread::spawn(|| {
            let mut shown = BTreeMap::new();
            loop {
                nvme::follow(&mut shown);
                tools::pause();
            }
        });
    }
    let listener = TcpListener::bind(("0.0.0.0", AGENT_PORT))?;
    let started = Arc::new(Background::default());
    say("ready");
    for stream in listener.incoming().flatten() {
        let started = Arc::clone(&started);
        thread::spawn(move || {
            if let Err(error) = serve(&stream, &started) {
                say(&format!("agent: {error:#}"));
            }
        });
    }
    Ok(())
}

fn serve(stream: &TcpStream, started: &Background) -> Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    if line.is_empty() {
        return Ok(());
    }
    let reply = serde_json::from_str(&line)
        .context("the request")
        .and_then(|request| answer(request, started))
        .unwrap_or_else(|error| Reply::Failed {
            why: format!("{error:#}"),
        });
    let mut text = serde_json::to_string(&reply)?;
    text.push('\n');
    let mut stream = stream;
    Ok(stream.write_all(text.as_bytes())?)
}

fn answer(request: Request, started: &Background) -> Result<Reply> {
    match request {
        Request::Ping => {}
        Request::Run { argv } => return run_to_end(&argv),
        Request::Start { name, argv } => start(name, &argv, started)?,
        Request::Running { name } => running(&name, started)?,
        Request::Stop { name } => stop(&name, started)?,
        Request::Put { path, text } => put(&path, &text)?,
        Request::Relay { listen, port } => relay::listen(&listen, port)?,
        Request::Fill(span) => pattern::write(&span).with_context(|| span.path.clone())?,
        Request::Check(span) => {
            let wrong = pattern::check(&span).with_context(|| span.path.clone())?;
            return Ok(Reply::Checked { wrong });
        }
        Request::WriteUntilError(span) => start_writer(&span, writer::UNTIL_ERROR, started)?,
        Request::WriteThroughErrors(span) => start_writer(&span, writer::THROUGH_ERRORS, started)?,
        Request::EndWriter => writer::stop()?,
    }
    Ok(Reply::Done)
}

fn run_to_end(argv: &[String]) -> Result<Reply> {
    let output = tools::command(argv)?
        .output()
        .with_context(|| format!("{argv:?}"))?;
    let signal = output.status.signal().map(|signal| 128 + signal);
    Ok(Reply::Ran {
        code: output.status.code().or(signal).unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn log(name: &str) -> String {
    format!("{RUN}/{name}.log")
}

fn start(name: String, argv: &[String], started: &Background) -> Result<()> {
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log(&name))?;
    let child = tools::command(argv)?
        .stdout(log.try_clone()?)
        .stderr(log)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("{argv:?}"))?;
    let mut started = started.programs();
    started.insert(name, child);
    Ok(())
}

fn running(name: &str, started: &Background) -> Result<()> {
    let mut started = started.programs();
    let child = started
        .get_mut(name)
        .with_context(|| format!("{name} was not started"))?;
    if let Some(status) = child.try_wait()? {
        let text = fs::read_to_string(log(name)).unwrap_or_default();
        let last = text.lines().last().unwrap_or_default();
        bail!("{name} ended ({status}): {last}");
    }
    Ok(())
}

fn stop(name: &str, started: &Background) -> Result<()> {
    let child = {
        let mut started = started.programs();
        started.remove(name)
    };
    let mut child = child.with_context(|| format!("{name} was not started"))?;
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn put(path: &str, text: &str) -> Result<()> {
    if let Some(folder) = Path::new(path).parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).with_context(|| path.to_owned())
}

/// Starts the writer as a program of its own: a program that is started while a file of a dead
/// server is open in the same process hangs when it closes that file.
fn start_writer(span: &Span, mode: &str, started: &Background) -> Result<()> {
    for file in [log(writer::NAME), writer::stop_file()] {
        if Path::new(&file).exists() {
            fs::remove_file(&file)?;
        }
    }
    let argv = [
        format!("{RUN}/guest"),
        STAGE_WRITER.to_owned(),
        mode.to_owned(),
        serde_json::to_string(span)?,
    ];
    start(writer::NAME.to_owned(), &argv, started)
}
