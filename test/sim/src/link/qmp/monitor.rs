//! QMP, as far as disks need it (QEMU: docs/interop/qmp-spec).

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// How long a machine may take to answer; an emulated one on a busy host is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// The machine is not there, or not any more.
    #[error("the monitor is gone")]
    Gone(#[source] io::Error),
    /// QEMU said no.
    #[error("QEMU refused {command}: {reason}")]
    Refused {
        /// What was asked.
        command: String,
        /// Its reason.
        reason: String,
    },
}

/// A connection to the monitor of one machine.
#[derive(Debug)]
pub struct Monitor {
    reader: BufReader<UnixStream>,
    events: Vec<Value>,
}

impl Monitor {
    /// Connects and negotiates.
    ///
    /// # Errors
    /// [`MonitorError::Gone`] when nobody serves the socket.
    pub fn connect(socket: &Path) -> Result<Self, MonitorError> {
        let stream = UnixStream::connect(socket).map_err(MonitorError::Gone)?;
        for set in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            set(&stream, Some(PATIENCE)).map_err(MonitorError::Gone)?;
        }
        let mut this = Self {
            reader: BufReader::new(stream),
            events: Vec::new(),
        };
        // The greeting.
        this.line()?;
        this.execute("qmp_capabilities", &json!({}))?;
        Ok(this)
    }

    /// Runs a command.
    ///
    /// # Errors
    /// When the machine is gone or refuses.
    pub fn execute(&mut self, command: &str, arguments: &Value) -> Result<Value, MonitorError> {
        let mut text = json!({"execute": command, "arguments": arguments}).to_string();
        text.push('\n');
        self.reader
            .get_mut()
            .write_all(text.as_bytes())
            .map_err(MonitorError::Gone)?;
        loop {
            let mut message = self.line()?;
            if message.get("event").is_some() {
                self.events.push(message);
                continue;
            }
            if let Some(error) = message.get("error") {
                return Err(MonitorError::Refused {
                    command: command.to_owned(),
                    reason: error["desc"].as_str().unwrap_or_default().to_owned(),
                });
            }
            return Ok(message["return"].take());
        }
    }

    /// Waits until a device is gone for good.
    ///
    /// # Errors
    /// When the machine is gone, or keeps the device.
    pub fn wait_deleted(&mut self, device: &str) -> Result<(), MonitorError> {
        let is_it =
            |event: &Value| event["event"] == "DEVICE_DELETED" && event["data"]["device"] == device;
        loop {
            if let Some(at) = self.events.iter().position(is_it) {
                self.events.remove(at);
                return Ok(());
            }
            let message = self.line()?;
            self.events.push(message);
        }
    }

    /// Forgets events that nobody waits for.
    pub fn forget_events(&mut self) {
        self.events.clear();
    }

    fn line(&mut self) -> Result<Value, MonitorError> {
        let mut text = String::new();
        let read = self.reader.read_line(&mut text);
        if read.map_err(MonitorError::Gone)? == 0 {
            return Err(MonitorError::Gone(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_str(&text).map_err(|error| MonitorError::Gone(error.into()))
    }
}
